import { effect } from '@preact/signals'
import { language, say } from '../site/words.ts'
import { iconWith } from './icon.ts'
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
