import { ADMIN_ENTRY } from '../http/pages/assets.ts'
import { html } from '../http/pages/html.ts'
import { pageRoute } from '../http/pages/page.ts'

/** The token is used by a script only, so that it is never sent in a form. */
export const adminPageRoute = {
  ...pageRoute('/admin', {
    title: 'admin_title',
    entry: ADMIN_ENTRY,
    content: (_config, { t }) => html`<main id="main">
<h1>${t('admin_title')}</h1>
<noscript><p class="notice">${t('admin_script')}</p></noscript>
</main>`,
  }),
  api: 'admin' as const,
}
