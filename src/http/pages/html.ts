/** Escaped HTML. Only the html tag creates it. */
export interface Markup {
  readonly markup: string
}

type Part = Markup | string | number | readonly Markup[]

/** Template tag: every value is escaped unless it is Markup. */
export function html(texts: TemplateStringsArray, ...parts: Part[]): Markup {
  const written = parts.map((part, at) => `${escaped(part)}${texts[at + 1]}`)
  return { markup: `${texts[0]}${written.join('')}` }
}

function escaped(part: Part): string {
  if (typeof part === 'number') return String(part)
  if (typeof part === 'string')
    return part.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`)
  return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('')
}
