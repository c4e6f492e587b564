import {
  collapseBlanks,
  decodeEntities,
  type HtmlToken,
  INLINE,
  openTokens,
  readAttributes,
} from '../codes/html-tokens.ts'
import { openLines } from './lines.ts'

// For all parts of a mail together: there may be a thousand.
const MAX_LENGTH = 1_000_000
/**
 * Text can be longer than its HTML: each line of a quotation or a list is indented, and a rule is 40 characters. Bounded by
 * the input, so that the size of a mail bounds the size of its parsed form.
 */
const MAX_GROWTH = 4
const FREE_OUTPUT = 64 * 1024
const MAX_OUTPUT = 1_000_000

/**
 * Converts HTML to text. Overlong text is truncated. One converter is used for all parts of a mail, so that its limits apply to
 * the whole mail.
 */
export function htmlConverter() {
  let inputLength = 0
  let outputLength = 0
  let isTruncated = false
  return {
    convert(html: string): string {
      const allowed = html.slice(0, MAX_LENGTH - inputLength)
      inputLength += allowed.length
      const maxOutput = Math.min(MAX_OUTPUT, MAX_GROWTH * inputLength + FREE_OUTPUT)
      const text = textOf(allowed, maxOutput - outputLength)
      const shown = cutAt(text, maxOutput - outputLength)
      outputLength += shown.length
      if (allowed.length < html.length || shown.length < text.length) isTruncated = true
      return shown
    },
    isTruncated: () => isTruncated,
  }
}

/** Longer than `maxLength` if it is not whole. */
function textOf(html: string, maxLength: number): string {
  const lines = openLines()
  const page: Page = { lines, maxLength, open: [], link: undefined, preDepth: 0, isPreStart: false }
  const tokens = openTokens(html)
  for (let token = tokens.next(); token; token = tokens.next()) {
    if (token.kind === 'tag') applyTag(page, token)
    else if (token.text !== '') addText(page, decodeEntities(token.text))
    if (lines.length() > maxLength) break
  }
  endLink(page)
  return lines.text()
}

interface Page {
  lines: ReturnType<typeof openLines>
  maxLength: number
  /** Open elements whose end matters, outermost first. */
  open: OpenElement[]
  link: Link | undefined
  /** Number of open `pre` elements. */
  preDepth: number
  /** After the tag `pre`, where a line break is not shown. */
  isPreStart: boolean
}

interface OpenElement {
  kind: number
  /** Line breaks after it. */
  breaks: number
  /** The kinds of it and of all elements around it. */
  kinds: number
  /** Number of the next item of a list with numbers. */
  next: number | undefined
  unindent: (() => void) | undefined
}

interface Link {
  href: string
  text: string
  /** Number of open elements around it. */
  depth: number
}

interface Layout {
  /** Line breaks before and after it. */
  breaks: number
  /** One bit; set if the end of the element matters. */
  kind?: number
  /** Open elements that its start tag ends. */
  ends?: number
  /** Elements beyond which its tags end none. */
  barriers?: number
}

// Kinds of elements, to find them fast among many.
const [TD, TH, TR, TABLE, LI] = [1, 2, 4, 8, 16]
const [MENU, OL, UL, BLOCKQUOTE] = [32, 64, 128, 256]
const CELLS = TD | TH
const LISTS = MENU | OL | UL
const BLOCK: Layout = { breaks: 1 }
const LAYOUTS = new Map<string, Layout>([
  ...[...INLINE].map((name) => [name, { breaks: 0 }] as const),
  ...'h1 h2 h3 h4 h5 h6 hr p pre'.split(' ').map((name) => [name, { breaks: 2 }] as const),
  ['td', { breaks: 0, kind: TD, ends: CELLS, barriers: TABLE }],
  ['th', { breaks: 0, kind: TH, ends: CELLS, barriers: TABLE }],
  ['tr', { breaks: 1, kind: TR, ends: CELLS | TR, barriers: TABLE }],
  ['table', { breaks: 2, kind: TABLE }],
  ['li', { breaks: 1, kind: LI, ends: LI, barriers: LISTS | BLOCKQUOTE | CELLS | TABLE }],
  ['menu', { breaks: 2, kind: MENU, barriers: CELLS | TABLE }],
  ['ol', { breaks: 2, kind: OL, barriers: CELLS | TABLE }],
  ['ul', { breaks: 2, kind: UL, barriers: CELLS | TABLE }],
  ['blockquote', { breaks: 2, kind: BLOCKQUOTE, barriers: CELLS | TABLE }],
])
/** Deeper elements are ignored: each end tag looks for its start tag. */
const MAX_DEPTH = 64
const QUOTATION = '> '
const BULLET = '* '
const RULE = '-'.repeat(40)
/** Longer numbers would widen every line. */
const LIST_START = /^[0-9]{1,3}$/

function addText(page: Page, text: string): void {
  if (page.preDepth > 0) {
    addLines(page, text)
    return
  }
  const words = collapseBlanks(text)
  const start = words.startsWith(' ') ? 1 : 0
  const end = words.endsWith(' ') ? words.length - 1 : words.length
  if (start > 0) page.lines.space()
  if (end <= start) return
  write(page, words.slice(start, end))
  if (end < words.length) page.lines.space()
}

function addLines(page: Page, text: string): void {
  const lines = (page.isPreStart ? text.replace(/^\n/, '') : text).split('\n')
  page.isPreStart = false
  for (const [at, line] of lines.entries()) {
    if (at > 0) page.lines.breakLine()
    if (line !== '') write(page, line)
    if (page.lines.length() > page.maxLength) return
  }
}

function write({ lines, link }: Page, text: string): void {
  if (link) link.text += text
  lines.write(text)
}

type Tag = Extract<HtmlToken, { kind: 'tag' }>

function applyTag(page: Page, tag: Tag): void {
  const { name, isEnd } = tag
  page.isPreStart = name === 'pre'
  if (name === 'br') page.lines.breakLine()
  else if (name === 'a') startLink(page, tag)
  else {
    const layout = LAYOUTS.get(name) ?? BLOCK
    if (isEnd) endElement(page, name, layout)
    else startElement(page, tag, layout)
  }
}

function startElement(page: Page, { name, source }: Tag, layout: Layout): void {
  const { lines, open } = page
  const { kind, ends, barriers } = layout
  if (ends) while (endLast(page, ends, barriers));
  const outer = open.at(-1)
  const breaks = isOneOf(LISTS, kind) && isOneOf(LI, outer?.kinds) ? 1 : layout.breaks
  lines.setApart(breaks)
  if (isOneOf(CELLS, kind)) lines.space()
  else if (name === 'pre') page.preDepth += 1
  else if (name === 'hr') {
    lines.write(RULE)
    lines.setApart(breaks)
  }
  if (kind === undefined || open.length >= MAX_DEPTH) return
  const marker = markerOf(kind, outer)
  const next = kind === OL ? firstNumber(readAttributes(source, ['start'])['start']) : undefined
  const following = kind === LI ? ' '.repeat(marker.length) : marker
  const unindent = marker === '' ? undefined : lines.indent(marker, following)
  open.push({ kind, kinds: kind | (outer?.kinds ?? 0), breaks, next, unindent })
}

function isOneOf(kinds: number, kind = 0): boolean {
  return (kinds & kind) !== 0
}

/** What the first line in an element starts with. */
function markerOf(kind: number, outer: OpenElement | undefined): string {
  if (kind === BLOCKQUOTE) return QUOTATION
  if (kind !== LI) return ''
  const margin = isOneOf(LI, outer?.kinds) ? '' : ' '
  if (outer?.next === undefined) return margin + BULLET
  outer.next += 1
  return `${margin}${outer.next - 1}. `
}

function firstNumber(start = ''): number {
  return LIST_START.test(start) ? Number(start) : 1
}

function endElement(page: Page, name: string, { kind, barriers, breaks }: Layout): void {
  if (kind !== undefined) {
    endLast(page, kind, barriers)
    return
  }
  if (name === 'pre') page.preDepth = Math.max(0, page.preDepth - 1)
  page.lines.setApart(breaks)
}

/** Ends the last element of these kinds and what is open in it; false if there is none before a barrier. */
function endLast(page: Page, sought: number, barriers = 0): boolean {
  if (!isOneOf(sought, page.open.at(-1)?.kinds)) return false
  const at = page.open.findLastIndex(({ kind }) => isOneOf(sought | barriers, kind))
  if (!isOneOf(sought, page.open[at]?.kind)) return false
  endFrom(page, at)
  return true
}

function endFrom(page: Page, depth: number): void {
  if (page.link && page.link.depth > depth) endLink(page)
  while (page.open.length > depth) {
    const element = page.open.pop()
    page.lines.setApart(element?.breaks ?? 0)
    element?.unindent?.()
  }
}

/** As in a browser, a link ends where the next one starts. */
function startLink(page: Page, { isEnd, source }: Tag): void {
  endLink(page)
  const href = isEnd ? '' : targetOf(source)
  if (href !== '') page.link = { href, text: '', depth: page.open.length }
}

/** Empty for a place on the page itself. */
function targetOf(source: string): string {
  const { href } = readAttributes(source, ['href'])
  const target = href?.replace(/[\t\r\n\f]+/g, '').trim() ?? ''
  return target.startsWith('#') ? '' : target.replace(/^mailto:/i, '')
}

/** A link without text, such as an image, is shown by its target. */
function endLink(page: Page): void {
  const { lines, link } = page
  page.link = undefined
  if (!link) return
  if (link.text === '') lines.write(link.href)
  else if (link.text !== link.href) lines.append(` [${link.href}]`)
}

/** Does not split a surrogate pair. */
function cutAt(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  return text.slice(0, Math.max(0, maxLength)).replace(/[\ud800-\udbff]$/, '')
}
