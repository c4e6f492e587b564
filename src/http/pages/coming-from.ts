import { COMING_FROM, OTHER_SERVICES, type OtherService } from '../docs/coming-from.ts'
import { contents, linkList, table } from './docs-parts.ts'
import { html, type Markup } from './html.ts'

/** In English, as /docs. */
export function comingFromContent(): Markup {
  const links = OTHER_SERVICES.map(({ name }): [string, string] => [idOf(name), name])
  return html`<div class="docs" lang="en" dir="ltr">
${contents([linkList('Coming from', links)])}
<main id="main">
<h1>Coming from another service</h1>
<p class="lead">${withCode(COMING_FROM)} <a href="/docs">All calls</a></p>
${OTHER_SERVICES.map(section)}
</main>
</div>`
}

function section({ name, about, calls, differences, missing }: OtherService): Markup {
  const id = idOf(name)
  return html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${name}</h2>
<p>${withCode(about)}</p>
${table(
  [name, 'HTTP', 'JavaScript', 'Python'],
  calls.map((cells) => cells.map(withCode)),
  'calls',
)}
<h3>What is different</h3>
<ul>${differences.map((text) => html`<li>${withCode(text)}</li>\n`)}</ul>
<p>Not in Mayfly: ${withCode(missing)}</p>
</section>
`
}

function idOf(name: string): string {
  return name.toLowerCase().replaceAll('.', '-')
}

/** What is between backticks is code, in which a line may end after some characters. */
function withCode(text: string): Markup {
  const parts = text.split('`').map((part, at) => {
    if (at % 2 === 0) return html`${part}`
    const [first = '', ...rest] = part.split(/(?<=[.(/?&])/)
    return html`<code>${first}${rest.map((piece) => html`<wbr>${piece}`)}</code>`
  })
  return html`${parts}`
}
