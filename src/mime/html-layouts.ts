import { BLOCK_ELEMENTS, INLINE_BOXES } from '../codes/html-tokens.ts'

export interface Layout {
  /** Line breaks before and after it. */
  breaks: number
  /** One bit, or 0 for elements whose end tag is optional or changes nothing. */
  kind: number
  /** Open elements that its start tag ends. */
  ends: number
  /** Open elements that tags in it do not end. */
  hides: number
}

// Bit flags: each tag of a million may have to find what it ends.
const KINDS = (
  'table tr td th li dir menu ol ul blockquote pre div center section article aside header footer main nav figure fieldset ' +
  'details address dl'
).split(' ')
const TABLE = kindsOf('table')
export const LI = kindsOf('li')
export const OL = kindsOf('ol')
export const BLOCKQUOTE = kindsOf('blockquote')
export const PRE = kindsOf('pre')
export const CELLS = kindsOf('td th')
export const LISTS = kindsOf('dir menu ol ul')
const ENDS: Record<string, number> = { td: CELLS, th: CELLS, tr: kindsOf('tr'), li: LI }
const SET_APART = new Set('blockquote dir h1 h2 h3 h4 h5 h6 hr menu ol p pre table ul'.split(' '))

/** Other elements do not change the text. */
export const LAYOUTS: ReadonlyMap<string, Layout> = new Map(
  [...BLOCK_ELEMENTS, ...INLINE_BOXES].map((name) => [name, layoutOf(name)]),
)

function kindsOf(names: string): number {
  return names.split(' ').reduce((kinds, name) => kinds | (1 << KINDS.indexOf(name)), 0)
}

function layoutOf(name: string): Layout {
  const kind = KINDS.includes(name) ? kindsOf(name) : 0
  const breaks = SET_APART.has(name) ? 2 : 1
  return {
    breaks: INLINE_BOXES.has(name) ? 0 : breaks,
    kind,
    ends: ENDS[name] ?? 0,
    hides: hiddenIn(kind),
  }
}

function hiddenIn(kind: number): number {
  if (kind === TABLE) return ~0
  return hasAny(LISTS, kind) ? LI : 0
}

export function hasAny(kinds: number, others: number): boolean {
  return (kinds & others) !== 0
}
