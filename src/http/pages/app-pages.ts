import type { SiteConfig } from '../../shared/site.ts'
import { html, type Markup } from './html.ts'
import type { Locale } from './locale.ts'
import { pageRoute } from './page.ts'
import { startContent } from './plain/start.ts'

/** Pages that a script of web/ renders; without one they say what to do instead. */
export const pageRoutes = [
  pageRoute('/', {
    title: 'site_title',
    namesSite: true,
    entry: 'inbox/inbox.tsx',
    publicPath: '/',
    showsMail: true,
    content: startContent,
  }),
  pageRoute('/key', {
    title: 'site_key',
    current: 'key',
    publicPath: '/key',
    isOfShop: true,
    entry: 'key/key.tsx',
    content: keyContent,
  }),
  // Shows where a link in a message goes before it is opened. The link is in the fragment, which is never sent to the server.
  pageRoute('/leave', {
    title: 'leave_title',
    entry: 'site/leave.tsx',
    content: (_config, { t }) => html`<main><h1>${t('leave_title')}</h1></main>`,
  }),
]

/** A key is used by a script only, so that it is never sent in a form. */
function keyContent({ site }: SiteConfig, { t }: Locale): Markup {
  return html`<main id="main">
<h1>${t('site_key')}</h1>
<p class="lead">${t('key_lead')}</p>
<noscript>
<p class="notice">${t('plain_key_script')}</p>
<pre><code>curl -H 'APIKey: KEY' ${site}/usage</code></pre>
<p>${t('plain_key_roll')}</p>
<pre><code>curl -X POST -H 'APIKey: KEY' ${site}/api/roll-key</code></pre>
</noscript>
</main>`
}
