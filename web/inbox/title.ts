import { effect } from '@preact/signals'
import { language, say } from '../site/words.ts'
import { unreadCount } from './unread.ts'

/** Shows in the tab how much is unread: in its title and on its icon. */
export function keepTitle(): void {
  effect(() => {
    const count = unreadCount.value
    const before = count === 0 ? '' : `(${count.toLocaleString(language.value)}) `
    document.title = `${before}${say('site_inbox')} – Mayfly`
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
    if (link) link.href = count === 0 ? '/favicon.svg' : iconWith(count)
  })
}

/** The mark of the site with a count beside it, as an address that needs no request. */
function iconWith(count: number): string {
  const text = count > 9 ? '9+' : String(count)
  return `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b6b63"/><path d="M16 5l3.2 7.8L27 16l-7.8 3.2L16 27l-3.2-7.8L5 16l7.8-3.2z" fill="none" stroke="#fff" stroke-width="2.2" stroke-linejoin="round"/><circle cx="22" cy="10" r="10" fill="#c7362b"/><text x="22" y="15" font-family="sans-serif" font-size="${count > 9 ? 12 : 14}" font-weight="700" text-anchor="middle" fill="#fff">${text}</text></svg>`,
  )}`
}
