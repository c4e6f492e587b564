import type { IncomingHttpHeaders } from 'node:http'
import { Type } from 'typebox'
import { openDomains } from '../../service/domains.ts'
import { languageOf } from '../languages.ts'
import { html, type Markup } from '../markup.ts'
import type { RouteNeeds } from '../needs.ts'
import { page } from '../page.ts'
import { type Route, route } from '../route.ts'
import { siteUrl } from '../site.ts'

/** The pages that a script of web/ makes; without one they say what can be done instead. */
export const pageRoutes: readonly Route[] = [
  appPage({
    path: '/',
    title: 'Inbox',
    about: 'An address for now, and its mail, for people.',
    entry: 'inbox/inbox.tsx',
    showsMail: true,
    content: html`<main><h1>Mayfly</h1></main>`,
  }),
  appPage({
    path: '/key',
    title: 'Your key',
    about: 'What is used of a key and what is left, for people.',
    entry: 'key/key.tsx',
    content: html`<main><h1>Your key</h1></main>`,
  }),
  appPage({
    path: '/leave',
    title: 'Open a link',
    about:
      'Shows where a link of a mail leads before it is opened. The link is in the fragment: it never comes here.',
    entry: 'site/leave.tsx',
    content: html`<main><h1>Open a link</h1></main>`,
  }),
]

interface AppPage {
  path: string
  title: string
  about: string
  entry: string
  showsMail?: boolean
  content: Markup
}

function appPage({ path, title, about, entry, showsMail = false, content }: AppPage): Route {
  return route({
    method: 'GET',
    path,
    title,
    about,
    input: Type.Object({}),
    output: 'text/html',
    refusals: [],
    async handle(_input, needs, { headers }) {
      const language = languageOf(headers['accept-language'])
      const facts = await factsOf(needs, headers)
      return page(needs.builtPage, { title, language, entry, facts, showsMail, content })
    },
  })
}

/** What the scripts of the page know of this installation: see web/site/facts.ts. */
async function factsOf(needs: RouteNeeds, { host }: IncomingHttpHeaders): Promise<object> {
  const [domain] = await openDomains(needs)
  return {
    life: needs.lives.sessionSeconds,
    abuse: domain ? `abuse@${domain.name}` : '',
    receipts: needs.receipts,
    site: siteUrl(needs.baseUrl, host),
  }
}
