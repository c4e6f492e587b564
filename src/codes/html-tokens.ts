import { decodeHTML, decodeHTMLAttribute } from 'entities/decode'

/** Text as written in the source, or a tag. */
export type HtmlToken =
  | { kind: 'text'; text: string }
  | {
      kind: 'tag'
      name: string
      isEnd: boolean
      /** The attributes as written. */
      source: string
    }

/**
 * Tokenizes HTML in one pass; as in a browser, a construct that is never closed extends to the end. Comments, declarations,
 * scripts and styles are empty texts, so that a caller that works in steps sees each of them. Not htmlparser2: its time is
 * quadratic in the depth of nesting (65,000 unclosed tags take many seconds).
 */
export function htmlTokenizer(html: string) {
  let at = 0

  function readText(end: number): HtmlToken {
    const text = html.slice(at, end)
    at = end
    return { kind: 'text', text }
  }

  function readTag(nameStart: number, isEnd: boolean): HtmlToken {
    const start = nameEnd(html, nameStart)
    const name = lowerCase(html.slice(nameStart, start))
    const end = tagEnd(html, start)
    at = end ?? html.length
    if (!isEnd && SKIPPED_ELEMENTS.has(name)) {
      at = indexAfter(html, '>', indexOfClosing(html, name, at))
      return SKIPPED
    }
    if (end === undefined) return SKIPPED
    const source = at - start > MAX_TAG ? beginning(html, start) : html.slice(start, at)
    return { kind: 'tag', name, isEnd, source }
  }

  /** A comment or a declaration. */
  function skipNonTag(): HtmlToken {
    at = html.startsWith('<!--', at) ? commentEnd(html, at) : indexAfter(html, '>', at + 1)
    return SKIPPED
  }

  return {
    /** Undefined at the end. */
    next(): HtmlToken | undefined {
      if (at >= html.length) return undefined
      const start = markupFrom(html, at)
      if (start > at) return readText(start)
      const isEnd = html.charCodeAt(at + 1) === SLASH
      const nameStart = isEnd ? at + 2 : at + 1
      return isLetter(html.charCodeAt(nameStart)) ? readTag(nameStart, isEnd) : skipNonTag()
    },
  }
}

const SLASH = 0x2f
const MARKUP = /<[A-Za-z!?/]/g

/** Offset of the next tag, comment or declaration. Any other `<` is text: a mail may consist of millions. */
function markupFrom(html: string, from: number): number {
  const at = html[from] === '<' ? from : html.indexOf('<', from)
  if (at < 0) return html.length
  if (isLetter(html.charCodeAt(at + 1)) || html.charCodeAt(at + 1) === SLASH) return at
  MARKUP.lastIndex = at
  return MARKUP.test(html) ? MARKUP.lastIndex - 2 : html.length
}

function isLetter(code: number): boolean {
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x7a
}

const SKIPPED: HtmlToken = { kind: 'text', text: '' }

function nameEnd(html: string, at: number): number {
  let end = at + 1
  while (end < html.length && !endsName(html.charCodeAt(end))) end += 1
  return end
}

/** Most are in lower case. `toLowerCase` is slow for the names of a text that has a character outside Latin-1. */
function lowerCase(name: string): string {
  for (let at = 0; at < name.length; at += 1) {
    const code = name.charCodeAt(at)
    if ((code >= 0x41 && code <= 0x5a) || code > 0x7f) return name.toLowerCase()
  }
  return name
}

/** A blank, `/` or `>`. */
function endsName(code: number): boolean {
  return code === 0x20 || code === SLASH || code === 0x3e || isBreak(code)
}

/** A tab, a line break or a form feed. */
function isBreak(code: number): boolean {
  return code === 0x09 || code === 0x0a || code === 0x0c || code === 0x0d
}

/** The attributes in the beginning of a very long tag, without the one that is cut. */
function beginning(html: string, start: number): string {
  let end = start
  NEXT_ATTRIBUTE.lastIndex = start
  while (NEXT_ATTRIBUTE.test(html) && NEXT_ATTRIBUTE.lastIndex < start + MAX_TAG) {
    end = NEXT_ATTRIBUTE.lastIndex
  }
  return html.slice(start, end)
}

function commentEnd(html: string, at: number): number {
  const short = SHORT_COMMENTS.find((comment) => html.startsWith(comment, at))
  if (short) return at + short.length
  COMMENT_END.lastIndex = at + 4
  return COMMENT_END.test(html) ? COMMENT_END.lastIndex : html.length
}

const SHORT_COMMENTS = ['<!-->', '<!--->']
const COMMENT_END = /--!?>/g
// Blanks of HTML: `\s` has more.
const BLANKS = ' \\t\\n\\f\\r'
// A name, and a value in quotes of either kind or without.
const NAME = `[^${BLANKS}/>][^${BLANKS}/>=]*`
const VALUE = `"([^"]*)(?:"|$)|'([^']*)(?:'|$)|([^${BLANKS}"'>][^${BLANKS}>]*)`
const ATTRIBUTE = `(${NAME})(?:[${BLANKS}]*=[${BLANKS}]*(?:${VALUE})?)?`
const ATTRIBUTES = new RegExp(ATTRIBUTE, 'g')
const NEXT_ATTRIBUTE = new RegExp(`[${BLANKS}/]*(?:${ATTRIBUTE})?`, 'y')
const MAX_TAG = 16_384
/** After them, the next bracket ends the tag: a mail may consist of a million. */
const MAX_ATTRIBUTES = 2_000
/** Their content is not visible. */
const SKIPPED_ELEMENTS = new Set('iframe noembed noframes script style template title'.split(' '))

function indexAfter(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from)
  return found < 0 ? html.length : found + text.length
}

/** Offset after the tag, undefined if it has no end; a bracket in a quoted value does not end it. */
function tagEnd(html: string, from: number): number | undefined {
  let at = from
  for (let count = 0; at < html.length && count < MAX_ATTRIBUTES; count += 1) {
    if (html[at] === '>') return at + 1
    NEXT_ATTRIBUTE.lastIndex = at
    NEXT_ATTRIBUTE.test(html)
    at = NEXT_ATTRIBUTE.lastIndex
  }
  const end = html.indexOf('>', at)
  return end < 0 ? undefined : end + 1
}

function indexOfClosing(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}(?=[${BLANKS}/>])`, 'gi')
  closing.lastIndex = from
  return closing.exec(html)?.index ?? html.length
}

/** Its value; the first of two equal attributes counts. */
export function readAttribute(tag: string, wanted: string): string | undefined {
  if (!tag.includes('=')) return undefined
  for (const [, name = '', double, single, bare] of tag.matchAll(ATTRIBUTES)) {
    if (name.length === wanted.length && name.toLowerCase() === wanted)
      return decodeHTMLAttribute(double ?? single ?? bare ?? '')
  }
  return undefined
}

// Only where a value starts: text may quote such a URL. Not one expression: a run of millions of characters overflows its stack.
const DATA_START =
  /(?<=(["'(=]|&(?:quot|apos|#0{0,3}3[49]|#x0{0,2}2[27]);)\s{0,9})data:[^<>(),:]{0,100}?;\s?base64,/gi
const DATA_END = /[^A-Za-z0-9+/=%&#;\s]/g
/** Without quotes, a blank ends the value too. */
const BARE_DATA_END = /[^A-Za-z0-9+/=%&#;]/g
const MIN_DATA = 1_000

/** Without images in `data:` URLs: the text after them would be beyond the limits of length. */
export function withoutEmbeddedData(html: string): string {
  let [kept, from] = ['', 0]
  DATA_START.lastIndex = 0
  for (let start = DATA_START.exec(html); start; start = DATA_START.exec(html)) {
    const isBare = start[1] === '=' || start[1] === '('
    const ending = isBare ? BARE_DATA_END : DATA_END
    ending.lastIndex = DATA_START.lastIndex
    const end = ending.exec(html)?.index ?? html.length
    if (end - start.index >= MIN_DATA) {
      // An empty value without quotes would be the next attribute.
      kept += html.slice(from, start.index + (isBare ? 'data:'.length : 0))
      from = end
    }
    DATA_START.lastIndex = end
  }
  return kept + html.slice(from)
}

/** Decodes character references. */
export function decodeEntities(text: string): string {
  return text.includes('&') ? decodeHTML(text) : text
}

/** Outside `pre`. Most texts have none to collapse, or are a line break between tags. */
export function collapseBlanks(text: string): string {
  if (text === '\n') return ' '
  return /[\t\r\n\f]| {2}/.test(text) ? text.replace(/[ \t\r\n\f]+/g, ' ') : text
}

/** Elements that break the line, which cells of tables do not. */
export const BLOCK_ELEMENTS: ReadonlySet<string> = new Set(
  (
    'address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure footer ' +
    'form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search section summary ' +
    'table tbody tfoot thead tr ul'
  ).split(' '),
)

/** Elements that are boxes within a line: their text does not join that around them. */
export const INLINE_BOXES: ReadonlySet<string> = new Set(
  'button input meter object progress select td textarea th'.split(' '),
)
