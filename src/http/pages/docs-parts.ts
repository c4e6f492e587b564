import { html, type Markup } from './html.ts'

/** Twice: collapsed on a phone, where it would precede everything else; docs.css shows the one that fits. */
export function contents(lists: Markup[]): Markup {
  return html`<nav class="contents" aria-label="Contents">
<details class="more"><summary>Contents</summary>${lists}</details>
<div class="aside">${lists}</div>
</nav>`
}

export function linkList(name: string, links: [id: string, title: string][]): Markup {
  return html`<p>${name}</p>
<ul>${links.map(([id, title]) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>
`
}

export function table(head: string[], rows: Markup[][], kind = 'answers'): Markup {
  return html`<div class="scroll"><table class="${kind}"><thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>\n`)}</tbody></table></div>`
}
