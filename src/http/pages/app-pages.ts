import { Type } from 'typebox'
import { type Route, route } from '../server/route.ts'
import { html, type Markup } from './html.ts'
import { type Locale, localeOf } from './locale.ts'
import { type PageFacts, page, pageFacts, siteFooter, siteHeader } from './page.ts'
import { startContent } from './plain/start.ts'

/** The pages that a script of web/ makes; without one they say what can be done instead. */
export const pageRoutes: readonly Route[] = [
  appPage({
    path: '/',
    title: 'Inbox',
    about: 'A temporary address and its mail, for people.',
    entry: 'inbox/inbox.tsx',
    showsMail: true,
    content: startContent,
  }),
  appPage({
    path: '/key',
    title: 'Your key',
    about: 'Usage and remaining requests of a key, for people.',
    entry: 'key/key.tsx',
    content: keyContent,
  }),
  appPage({
    path: '/leave',
    title: 'Open a link',
    about:
      'Shows where a link of a mail leads before it is opened. The link is in the fragment: it never comes here.',
    entry: 'site/leave.tsx',
    content: () => html`<main class="for-now" lang="en" dir="ltr"><h1>Open a link</h1></main>`,
  }),
]

interface AppPage {
  path: string
  title: string
  about: string
  entry: string
  showsMail?: boolean
  /** `scripted`: a script takes its place. */
  content(facts: PageFacts, reader: { locale: Locale; scripted: boolean }): Markup
}

function appPage({ path, title, about, entry, showsMail = false, content }: AppPage): Route {
  return route({
    method: 'GET',
    path,
    title,
    about,
    input: Type.Object({}),
    output: 'text/html',
    problems: [],
    async handle(_input, deps, call) {
      const locale = localeOf(call.headers['accept-language'])
      const scripted = deps.builtPage.entry(entry) !== undefined
      const facts = await pageFacts(deps, call)
      return page(deps.builtPage, {
        title,
        language: locale.language,
        entry,
        facts,
        showsMail,
        content: content(facts, { locale, scripted }),
      })
    },
  })
}

/** What /key is until its script takes over: only that can use a key without sending it in a form. */
export function keyContent({ site, abuse }: PageFacts, { locale }: { locale: Locale }): Markup {
  return html`${siteHeader(locale, 'key')}
<main id="main" class="for-now" lang="en" dir="ltr">
<h1>Your key</h1>
<p class="lead">Usage, remaining requests, sample code.</p>
<noscript>
<p class="notice">This page needs JavaScript, because your key never leaves your browser. Without it, use a terminal:</p>
<pre><code>curl -H 'APIKey: KEY' ${site}/usage</code></pre>
<p>To roll the key (the old one keeps working for 24 hours):</p>
<pre><code>curl -X POST -H 'APIKey: KEY' ${site}/api/roll-key</code></pre>
</noscript>
</main>
${siteFooter(locale, abuse)}`
}
