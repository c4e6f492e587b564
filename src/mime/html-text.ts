import {
  collapseBlanks,
  decodeEntities,
  type HtmlToken,
  htmlTokenizer,
  readAttribute,
  withoutEmbeddedData,
} from '../codes/html-tokens.ts'
import { BLOCKQUOTE, hasAny, LAYOUTS, type Layout, LI, LISTS, OL, PRE } from './html-layouts.ts'
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
    convert(source: string): string {
      const html = withoutEmbeddedData(source)
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
  /** The number of the next item, if the list has numbers. */
  nextNumber: number | undefined
  unindent: (() => void) | undefined
}

interface Link {
  href: string
  text: string
  /** Number of open elements around it. */
  depth: number
}

const QUOTATION = '> '
const BULLET = '* '
/** The indentation of a list that is in another one, but in none of its items. */
const NESTED_LIST = '   '
const RULE = '-'.repeat(40)
/** Longer numbers would widen every line. */
const LIST_START = /^[0-9]{1,3}$/

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

/** Followed by no blank. */
const WIDE = '、。，．！？；：）］｝」』】》〉〕'
const PUNCTUATION = new RegExp(`^[.,;:!?…)\\]}»«›‹”’“‘"'>،؛؟۔।${WIDE}]+$`, 'u')
const ENDS_PHRASE = new RegExp(`${PUNCTUATION.source.slice(0, -1)}(?=\\s|$)|^[${WIDE}]`, 'u')

function write(state: State, text: string): void {
  const { lines, link } = state
  const follows = state.followsTarget && lines.isJoined()
  // Programs that find links in text would take it for a part of the target.
  if (follows && !/^\s/.test(text) && !ENDS_PHRASE.test(text)) lines.space()
  // More may follow in another element.
  state.followsTarget = follows && PUNCTUATION.test(text)
  if (link) link.text += text
  lines.write(text)
}

type Tag = Extract<HtmlToken, { kind: 'tag' }>

function applyTag(state: State, tag: Tag): void {
  const { name, isEnd } = tag
  state.isPreStart = name === 'pre' && !isEnd
  if (name === 'br') state.lines.breakLine()
  else if (name === 'a') startLink(state, tag)
  else if (name === 'hr' && !isEnd) addRule(state)
  else {
    const layout = LAYOUTS.get(name)
    if (!layout) return
    if (isEnd) endElement(state, layout)
    else startElement(state, tag, layout)
  }
}

function addRule(state: State): void {
  if (state.link?.text) endLink(state)
  state.lines.setApart(2)
  state.lines.write(RULE)
  state.lines.setApart(2)
}

function startElement(state: State, { source }: Tag, layout: Layout): void {
  const { lines, open } = state
  const { kind, hides } = layout
  endLast(state, layout.ends)
  const outer = open.at(-1)
  const isNested = outer !== undefined && (outer.isNested || hasAny(LISTS, outer.kind))
  const breaks = isNested && hasAny(LISTS, kind) ? 1 : layout.breaks
  lines.setApart(breaks)
  if (breaks === 0) lines.space()
  if (kind === 0) return
  const [marker, following] = prefixesOf(kind, outer)
  open.push({
    ...{ kind, breaks, isNested, endable: ((outer?.endable ?? 0) & ~hides) | kind },
    isPreformatted: kind === PRE || (outer?.isPreformatted ?? false),
    nextNumber: kind === OL ? firstNumber(readAttribute(source, 'start')) : undefined,
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
  const isInNoItem = hasAny(LISTS, kind) && outer !== undefined && hasAny(LISTS, outer.kind)
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
  if (kind !== 0) endLast(state, kind)
  else if (breaks > 0) state.lines.setApart(breaks)
  else state.lines.space()
}

/** Ends the last open element of these kinds, if there is one, and what is open in it. */
function endLast(state: State, kinds: number): void {
  const { lines, open } = state
  if (!hasAny(kinds, open.at(-1)?.endable ?? 0)) return
  for (let element = open.pop(); element; element = open.pop()) {
    if (state.link && state.link.depth > open.length) endLink(state)
    lines.setApart(element.breaks)
    element.unindent?.()
    if (hasAny(kinds, element.kind)) return
  }
}

/** As in a browser, a link ends where the next one starts. */
function startLink(state: State, { isEnd, source }: Tag): void {
  endLink(state)
  const href = isEnd ? '' : targetOf(source)
  if (href !== '') state.link = { href, text: '', depth: state.open.length }
}

/** Empty for a fragment of the mail itself. */
function targetOf(source: string): string {
  const target =
    readAttribute(source, 'href')
      ?.replace(/[\t\r\n\f]+/g, '')
      .trim() ?? ''
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
  } else {
    if (link.text !== link.href) lines.append(` [${link.href}]`)
    state.followsTarget = true
  }
}

/** Does not split a surrogate pair. */
function cutAt(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  return text.slice(0, Math.max(0, maxLength)).replace(/[\ud800-\udbff]$/, '')
}
