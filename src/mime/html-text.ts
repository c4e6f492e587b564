import {
  BLOCK_ELEMENTS,
  collapseBlanks,
  decodeEntities,
  type HtmlToken,
  htmlTokenizer,
  readAttributes,
} from '../codes/html-tokens.ts'
import { lineWriter } from './line-writer.ts'

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
      const allowed = cutAt(html, MAX_LENGTH - inputLength)
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

/** The text, or a beginning of it that is longer than `maxLength`. */
function textOf(html: string, maxLength: number): string {
  const lines = lineWriter()
  const state: State = {
    ...{ lines, maxLength, open: [], link: undefined, followsTarget: false, isPreStart: false },
  }
  const tokens = htmlTokenizer(html)
  for (let token = tokens.next(); token; token = tokens.next()) {
    if (token.kind === 'tag') applyTag(state, token)
    else if (token.text !== '') addText(state, decodeEntities(token.text))
    if (lines.length() > maxLength) break
  }
  endLink(state)
  return lines.text()
}

interface State {
  lines: ReturnType<typeof lineWriter>
  maxLength: number
  /** Open elements whose end matters, outermost first. */
  open: OpenElement[]
  link: Link | undefined
  /** After the target of a link. */
  followsTarget: boolean
  /** After the tag `pre`, where a line break is not shown. */
  isPreStart: boolean
}

interface OpenElement {
  kind: number
  /** The kinds of open elements that tags in it can end, including its own. */
  endable: number
  /** Line breaks after it. */
  breaks: number
  /** Whether it is in another list. */
  isNested: boolean
  isPreformatted: boolean
  /** Of the next item, in a list with numbers. */
  nextNumber: number | undefined
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
  /** A bit; none if its end does not matter, or may be missing. */
  kind: number
  /** Open elements that its start tag ends. */
  ends: number
  /** Open elements that tags in it do not end. */
  hides: number
}

// Open elements are sets of bits: each start tag of a million may ask for them.
const KINDS = (
  'table tr td th li dir menu ol ul blockquote pre div center section article aside header footer main nav figure fieldset ' +
  'details address dl'
).split(' ')
const [TABLE, LI, OL] = [kindsOf('table'), kindsOf('li'), kindsOf('ol')]
const [BLOCKQUOTE, PRE] = [kindsOf('blockquote'), kindsOf('pre')]
const CELLS = kindsOf('td th')
const LISTS = kindsOf('dir menu ol ul')
const TABLE_PARTS = TABLE | CELLS | kindsOf('tr')
const ENDS: Record<string, number> = { td: CELLS, th: CELLS, tr: kindsOf('td th tr'), li: LI }
const SET_APART = new Set('blockquote dir h1 h2 h3 h4 h5 h6 hr menu ol p pre table ul'.split(' '))
const LAYOUTS = new Map([...BLOCK_ELEMENTS, 'td', 'th'].map((name) => [name, layoutOf(name)]))
const QUOTATION = '> '
const BULLET = '* '
/** Of a list in a list, but in none of its items. */
const NESTED_LIST = '   '
const RULE = '-'.repeat(40)
/** Longer numbers would widen every line. */
const LIST_START = /^[0-9]{1,3}$/

function kindsOf(names: string): number {
  return names.split(' ').reduce((kinds, name) => kinds | (1 << KINDS.indexOf(name)), 0)
}

function layoutOf(name: string): Layout {
  const kind = KINDS.includes(name) ? kindsOf(name) : 0
  const breaks = SET_APART.has(name) ? 2 : 1
  return {
    breaks: isOneOf(CELLS, kind) ? 0 : breaks,
    kind,
    ends: ENDS[name] ?? 0,
    hides: hiddenIn(kind),
  }
}

function hiddenIn(kind: number): number {
  if (kind === TABLE) return ~0
  if (isOneOf(CELLS, kind)) return ~TABLE_PARTS
  return isOneOf(LISTS | BLOCKQUOTE, kind) ? LI : 0
}

function isOneOf(kinds: number, kind: number): boolean {
  return (kinds & kind) !== 0
}

function addText(state: State, text: string): void {
  const { lines, open } = state
  if (open.at(-1)?.isPreformatted) {
    addPreformatted(state, text)
    return
  }
  const words = collapseBlanks(text)
  const start = words.startsWith(' ') ? 1 : 0
  const end = words.endsWith(' ') ? words.length - 1 : words.length
  if (start > 0) lines.space()
  if (end <= start) return
  write(state, words.slice(start, end))
  if (end < words.length) lines.space()
}

function addPreformatted(state: State, text: string): void {
  const lines = (state.isPreStart ? text.replace(/^\n/, '') : text).split('\n')
  state.isPreStart = false
  for (const [at, line] of lines.entries()) {
    if (at > 0) state.lines.breakLine()
    if (line !== '') write(state, line)
    if (state.lines.length() > state.maxLength) return
  }
}

function write(state: State, text: string): void {
  const { lines, link } = state
  // It would become a part of the target.
  if (state.followsTarget && /^[\p{L}\p{N}]/u.test(text)) lines.space()
  state.followsTarget = false
  if (link) link.text += text
  lines.write(text)
}

type Tag = Extract<HtmlToken, { kind: 'tag' }>

function applyTag(state: State, tag: Tag): void {
  const { name, isEnd } = tag
  state.isPreStart = name === 'pre' && !isEnd
  if (name === 'br') state.lines.breakLine()
  else if (name === 'a') startLink(state, tag)
  else if (name === 'hr') addRule(state)
  else {
    const layout = LAYOUTS.get(name)
    if (!layout) return
    if (isEnd) endElement(state, layout)
    else startElement(state, tag, layout)
  }
}

function addRule(state: State): void {
  endLink(state)
  state.lines.setApart(2)
  state.lines.write(RULE)
  state.lines.setApart(2)
}

function startElement(state: State, { source }: Tag, layout: Layout): void {
  const { lines, open } = state
  const { kind, hides } = layout
  while (endLast(state, layout.ends));
  const outer = open.at(-1)
  const isNested = outer !== undefined && (outer.isNested || isOneOf(LISTS, outer.kind))
  const breaks = isNested && isOneOf(LISTS, kind) ? 1 : layout.breaks
  lines.setApart(breaks)
  if (isOneOf(CELLS, kind)) lines.space()
  if (kind === 0) return
  const [marker, following] = prefixesOf(kind, outer)
  open.push({
    ...{ kind, breaks, isNested, endable: ((outer?.endable ?? 0) & ~hides) | kind },
    isPreformatted: kind === PRE || (outer?.isPreformatted ?? false),
    nextNumber: kind === OL ? firstNumber(readAttributes(source, ['start'])['start']) : undefined,
    unindent: marker === '' ? undefined : lines.indent(marker, following),
  })
}

/** What the first line in an element starts with, and those after it. */
function prefixesOf(kind: number, outer: OpenElement | undefined): [string, string] {
  if (kind === BLOCKQUOTE) return [QUOTATION, QUOTATION]
  if (kind === LI) {
    const marker = (outer?.isNested ? '' : ' ') + markerIn(outer)
    return [marker, ' '.repeat(marker.length)]
  }
  const isInNoItem = isOneOf(LISTS, kind) && outer !== undefined && isOneOf(LISTS, outer.kind)
  return isInNoItem ? [NESTED_LIST, NESTED_LIST] : ['', '']
}

function markerIn(list: OpenElement | undefined): string {
  if (list?.nextNumber === undefined) return BULLET
  list.nextNumber += 1
  return `${list.nextNumber - 1}. `
}

function firstNumber(start = ''): number {
  return LIST_START.test(start) ? Number(start) : 1
}

function endElement(state: State, { kind, breaks }: Layout): void {
  if (kind === 0) state.lines.setApart(breaks)
  else endLast(state, kind)
}

/** Ends the last open element of these kinds, and what is open in it; false if there is none. */
function endLast(state: State, kinds: number): boolean {
  const { lines, open } = state
  if (!isOneOf(kinds, open.at(-1)?.endable ?? 0)) return false
  for (let element = open.pop(); element; element = open.pop()) {
    if (state.link && state.link.depth > open.length) endLink(state)
    lines.setApart(element.breaks)
    element.unindent?.()
    if (isOneOf(kinds, element.kind)) return true
  }
  return false
}

/** As in a browser, a link ends where the next one starts. */
function startLink(state: State, { isEnd, source }: Tag): void {
  endLink(state)
  const href = isEnd ? '' : targetOf(source)
  if (href !== '') state.link = { href, text: '', depth: state.open.length }
}

/** Empty for a fragment of the mail itself. */
function targetOf(source: string): string {
  const { href } = readAttributes(source, ['href'])
  const target = href?.replace(/[\t\r\n\f]+/g, '').trim() ?? ''
  return target.startsWith('#') ? '' : target.replace(/^mailto:\s*/i, '')
}

/** A link without text, such as an image, is shown by its target. */
function endLink(state: State): void {
  const { lines, link } = state
  state.link = undefined
  if (!link) return
  if (link.text === '') {
    lines.space()
    lines.write(link.href)
    lines.space()
  } else if (link.text !== link.href) {
    lines.append(` [${link.href}]`)
    state.followsTarget = true
  }
}

/** Does not split a surrogate pair. */
function cutAt(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  return text.slice(0, Math.max(0, maxLength)).replace(/[\ud800-\udbff]$/, '')
}
