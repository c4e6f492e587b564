import { html, type Markup } from './markup.ts'

/** The places in the navigation; web/site/frame.tsx has the same. */
const PLACES = [
  ['inbox', '/', 'Inbox'],
  ['plans', '/pricing', 'Plans'],
  ['key', '/key', 'Your key'],
  ['docs', '/docs', 'API'],
] as const

export type Place = (typeof PLACES)[number][0]

/** What stands above every page: the same that a script puts there, so that nothing jumps when it does. */
export function siteTop(at?: Place): Markup {
  const links = PLACES.map(
    ([place, path, name]) =>
      html`<a href="${path}"${place === at ? html` aria-current="page"` : html``}>${name}</a>`,
  )
  return html`<header class="top" lang="en">
<a class="mark" href="/">Mayfly</a>
<nav aria-label="Site">${links}</nav>
</header>`
}

/** What stands below. Theme and language are chosen by a script: without one they follow the device. */
export function siteFoot(abuse = ''): Markup {
  return html`<footer class="foot" lang="en">${abuse === '' ? html`` : html`<a href="mailto:${abuse}">Report abuse</a>`}</footer>`
}
