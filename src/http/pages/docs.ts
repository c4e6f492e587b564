import { Type } from 'typebox'
import {
  EXAMPLE_LANGUAGES,
  type Example,
  type ExampleLanguage,
  exampleOf,
  firstSteps,
  PLACEHOLDER,
} from '../docs/examples.ts'
import { openapi, type SentEvent } from '../docs/openapi.ts'
import { parameterRows, problemRows, sampleText } from '../docs/schema-text.ts'
import { problemStatus } from '../server/problem-response.ts'
import { preparedJson } from '../server/response.ts'
import { type Route, route, routeName } from '../server/route.ts'
import { comingFromContent } from './coming-from.ts'
import { contents, linkList, table } from './docs-parts.ts'
import { html, type Markup } from './html.ts'
import { pageRoute } from './page.ts'

/** The documentation of these routes, complete; a script only adds the consoles. In English, as the API is. */
function docsContent(routes: readonly Route[], site: string): Markup {
  return html`<div class="docs" lang="en" dir="ltr">
${tableOfContents(routes)}
<main id="main">
<h1>Mayfly API</h1>
<p class="lead">Create a temporary address, receive mail and read it as JSON. When the session expires, its mail is deleted. OpenAPI: <a href="/openapi.json">openapi.json</a>. <a href="/docs/coming-from">Coming from another service?</a></p>
${start(site)}
${requestRules()}
${routes.map((route) => section(route, site))}
${errors()}
</main>
</div>`
}

function tableOfContents(routes: readonly Route[]): Markup {
  return contents([
    linkList('Start', [
      ['first-steps', 'First steps'],
      ['making-requests', 'Making requests'],
      ['errors', 'Errors'],
    ]),
    ...[...Map.groupBy(routes, groupOf)].map(([name, alike]) =>
      linkList(
        name,
        alike.map((route) => [routeName(route), route.title]),
      ),
    ),
  ])
}

function groupOf({ path, api }: Route): string {
  if (api === 'keyed') return 'With a key'
  if (/^\/api\/(plans|checkout|orders|stripe)\b/.test(path)) return 'Buying'
  return path.startsWith('/api/') ? 'Mailboxes' : 'Operations'
}

function start(site: string): Markup {
  return html`<section id="first-steps" aria-labelledby="first-steps-title">
<h2 id="first-steps-title">First steps</h2>
<p>Create an address, wait for mail and read it. The examples in JavaScript and Python use the clients <code>@mayfly-mail/client</code> and <code>mayfly-mail</code>.</p>
${tabs('first-steps', firstSteps(site))}
<p class="soft"><code>TOKEN</code>, <code>ADDRESS</code>, <code>KEY</code> and <code>ID</code> stand for your own values. If a mailbox or a key is in use in this browser, the page fills in its <code>TOKEN</code> or <code>KEY</code> for you. It does not send them to the server.</p></section>`
}

/** Radio buttons, so that they work without a script, which makes them one choice for the whole page. */
function tabs(id: string, example: Example): Markup {
  const all = Object.entries(example) as [ExampleLanguage, string][]
  const blocks = all.map(
    ([language, text]) =>
      html`<div class="copyable ${language}"><pre tabindex="0"><code>${withPlaces(text)}</code></pre></div>\n`,
  )
  if (all.length === 1) return html`<div class="example">${blocks}</div>`
  const choice = ([language]: (typeof all)[number], at: number) =>
    html`<label><input type="radio" name="example-${id}" value="${language}"${at === 0 ? html` checked` : html``}>${EXAMPLE_LANGUAGES[language]}</label>`
  return html`<fieldset class="example">
<legend class="unseen">Example</legend>
<div class="tabs">${all.map(choice)}</div>
${blocks}</fieldset>`
}

/** Each placeholder is an element, which the script finds. */
function withPlaces(text: string): Markup[] {
  return text
    .split(PLACEHOLDER)
    .map((part, at) => (at % 2 === 0 ? html`${part}` : html`<var>${part}</var>`))
}

function sample(text: string): Markup {
  return html`<div class="copyable"><pre class="sample"><code>${text}</code></pre></div>`
}

function requestRules(): Markup {
  return html`<section id="making-requests" aria-labelledby="making-requests-title">
<h2 id="making-requests-title">Making requests</h2>
<ul>
<li>Send parameters in the query string or, with POST, in a form, JSON or multipart body; the body takes precedence. Unknown parameters are ignored; empty ones count as missing.</li>
<li>Anyone with the token can read the mailbox. Send it as <code>Authorization: Bearer</code> rather than in the URL, which ends up in logs.</li>
<li>Times are in UTC, as <code>YYYY-MM-DD HH:MM:SS</code> and, in the <code>_iso</code> fields, as ISO 8601.</li>
<li><code>body_html</code> is untrusted input. Sanitize it before you display it.</li>
</ul></section>`
}

function section(route: Route, site: string): Markup {
  const id = routeName(route)
  const example = exampleOf(route, site)
  return html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${route.title}</h2>
<p class="call"><span class="method ${route.method.toLowerCase()}">${route.method}</span> <code>${route.path}</code></p>
${route.rawBody ? html`` : html`<div data-call="${route.method} ${route.path}"></div>`}
${route.description.split('\n\n').map((text) => html`<p>${text}</p>\n`)}${example ? tabs(id, example) : html``}${parameterTable(route)}
${responses(route)}
</section>
`
}

function parameterTable(route: Route): Markup {
  const rows = parameterRows(route).map(({ name, required, type, description }) => [
    html`<code>${name}</code>${required ? html` <em>required</em>` : html``}`,
    html`${type}`,
    html`${description}`,
  ])
  if (rows.length === 0) return html`<p class="none">No parameters.</p>`
  return table(['Parameter', 'Type', 'Meaning'], rows, 'parameters')
}

function responses(route: Route): Markup {
  const kind = typeof route.output === 'string' ? route.output : 'JSON, see below'
  const unchanged = route.conditional ? [[html`304`, html`Unchanged since that ETag.`]] : []
  const refused = problemRows(route).map(([status, codes]) => statusRow(status, codes))
  const text = sampleText(route)
  return html`${table(['Status', 'Response'], [[html`200`, html`${kind}`], ...unchanged, ...refused])}
${text === undefined ? html`` : sample(text)}`
}

function statusRow(status: number, codes: readonly string[]): Markup[] {
  return [html`${status}`, html`${codes.map((code) => html`<code>${code}</code> `)}`]
}

const REFUSAL = { status: 'error', message: '…', code: '…', request_id: '…' }

function errors(): Markup {
  const all = Map.groupBy(Object.entries(problemStatus), ([, status]) => status)
  const rows = [...all].map(([status, alike]) =>
    statusRow(
      status,
      alike.map(([code]) => code),
    ),
  )
  return html`<section id="errors" aria-labelledby="errors-title"><h2 id="errors-title">Errors</h2>
<p>Errors are JSON. <code>code</code> is stable; <code>message</code> is for humans. With 429 and 503, the <code>Retry-After</code> header says when to retry.</p>
${sample(JSON.stringify(REFUSAL, undefined, 2))}
${table(['Status', 'Codes'], rows)}</section>`
}

/** The documentation of these routes, for programs and for people. */
export function docsRoutes(routes: readonly Route[], events: readonly SentEvent[]) {
  const document = preparedJson(openapi(routes, events), { 'cache-control': 'no-cache' })
  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      output: Type.Unknown(),
      handle: async () => document,
    }),
    pageRoute('/docs', {
      title: 'site_docs',
      current: 'docs',
      publicPath: '/docs',
      entry: 'docs/docs.tsx',
      content: ({ site }) => docsContent(routes, site),
    }),
    pageRoute('/docs/coming-from', {
      title: 'site_docs',
      subpage: 'Coming from another service',
      current: 'docs',
      publicPath: '/docs/coming-from',
      entry: 'docs/docs.tsx',
      content: comingFromContent,
    }),
  ]
}
