import { Type } from 'typebox'
import { type Route, route } from '../server/route.ts'
import { html, type Markup } from './html.ts'
import type { Locale } from './locale.ts'
import { type SiteConfig, siteFooter, siteHeader, sitePage } from './page.ts'
import { startContent } from './plain/start.ts'

/** Pages that a script of web/ renders; without one they say what to do instead. */
export const pageRoutes: readonly Route[] = [
  appPage('/', 'Inbox', 'A temporary address and its mail, for people.', {
    title: 'site_inbox',
    entry: 'inbox/inbox.tsx',
    showsMail: true,
    content: startContent,
  }),
  appPage('/key', 'Your key', 'Usage and remaining requests of a key, for people.', {
    title: 'site_key',
    entry: 'key/key.tsx',
    content: keyContent,
  }),
  appPage(
    '/leave',
    'Open a link',
    'Shows where a link in a message goes before it is opened. The link is in the fragment, which is never sent to the server.',
    {
      title: 'leave_title',
      entry: 'site/leave.tsx',
      content: (_config, { t }) => html`<main><h1>${t('leave_title')}</h1></main>`,
    },
  ),
]

type SitePage = Parameters<typeof sitePage>[2]

function appPage(path: string, title: string, about: string, page: SitePage): Route {
  return route({
    method: 'GET',
    path,
    title,
    about,
    input: Type.Object({}),
    output: 'text/html',
    problems: [],
    handle: (_input, deps, call) => sitePage(deps, call, page),
  })
}

/** A key is used by a script only, so that it is never sent in a form. */
function keyContent({ site, abuse }: SiteConfig, locale: Locale): Markup {
  const { t } = locale
  return html`${siteHeader(locale, 'key')}
<main id="main">
<h1>${t('site_key')}</h1>
<p class="lead">${t('key_lead')}</p>
<noscript>
<p class="notice">${t('plain_key_script')}</p>
<pre><code>curl -H 'APIKey: KEY' ${site}/usage</code></pre>
<p>${t('plain_key_roll')}</p>
<pre><code>curl -X POST -H 'APIKey: KEY' ${site}/api/roll-key</code></pre>
</noscript>
</main>
${siteFooter(locale, abuse)}`
}
