import { html, type Markup } from './markup.ts'
import type { Locale } from './plain-locale.ts'

/** The places in the navigation; web/site/frame.tsx has the same. */
const PLACES = [
  ['inbox', '/', 'site_inbox'],
  ['plans', '/pricing', 'site_plans'],
  ['key', '/key', 'site_key'],
  ['docs', '/docs', 'site_docs'],
] as const

type Place = (typeof PLACES)[number][0]

/** What stands above every page: the same that a script puts there, so that nothing jumps when it does. */
export function siteTop({ say }: Locale, at?: Place): Markup {
  const links = PLACES.map(
    ([place, path, name]) =>
      html`<a href="${path}"${place === at ? html` aria-current="page"` : html``}>${say(name)}</a>`,
  )
  return html`<header class="top">
<a class="mark" href="/">Mayfly</a>
<nav aria-label="${say('site_nav')}">${links}</nav>
</header>`
}

/** What stands below. Theme and language are chosen by a script: without one they follow the device. */
export function siteFoot({ say }: Locale, abuse = ''): Markup {
  return html`<footer class="foot">${abuse === '' ? html`` : html`<a href="mailto:${abuse}">${say('site_abuse')}</a>`}</footer>`
}
