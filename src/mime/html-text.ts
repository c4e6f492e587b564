import { compile } from 'html-to-text'
import { type HtmlToken, htmlTokens } from '../codes/html-tokens.ts'

// For all parts of a mail together: there may be a thousand.
const MAX_LENGTH = 1_000_000
const MAX_TAGS = 20_000
// Below the limit of the library, at which it drops text without notice.
const MAX_DEPTH = 250
/**
 * The library lays out the lines of a quotation or a list again at each enclosing level: the time grows with the sum of
 * lines × levels. This limit takes about 0.2 s; 200 quotations around 19,000 lines would take 1.3 s.
 */
const MAX_LAYOUT = 1_000_000
/** A tag counts as this many blanks. */
const TAG_LAYOUT = 4
/**
 * Text can be longer than its HTML: each line of a quotation or a list is indented, and a rule is 40 characters. Bounded by
 * the input, so that the size of a mail bounds the size of its parsed form.
 */
const MAX_GROWTH = 4
const FREE_OUTPUT = 64 * 1024
const MAX_OUTPUT = 1_000_000

const convert = compile({
  wordwrap: false,
  limits: { maxDepth: 2 * MAX_DEPTH, ellipsis: '…' },
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    { selector: 'img', format: 'skip' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
      selector,
      options: { uppercase: false },
    })),
  ],
})

/**
 * Converts HTML to text. Overlong text is truncated, as is text whose structure would take too long. One converter is used for
 * all parts of a mail, so that its limits apply to the whole mail.
 */
export function htmlConverter() {
  const budget: Budget = { length: MAX_LENGTH, tags: MAX_TAGS, layout: MAX_LAYOUT }
  let outputLength = 0
  let isTruncated = false
  return {
    convert(html: string): string {
      const allowed = html.slice(0, Math.max(0, budget.length))
      budget.length -= allowed.length
      const outline = outlineOf(allowed, budget)
      const text = convert(outline.html)
      const maxOutput = MAX_GROWTH * (MAX_LENGTH - budget.length) + FREE_OUTPUT
      const shown = cutAt(text, Math.min(MAX_OUTPUT, maxOutput) - outputLength)
      outputLength += shown.length
      const isWhole = allowed.length === html.length && shown.length === text.length
      if (!outline.isWhole || !isWhole) isTruncated = true
      return shown
    },
    isTruncated: () => isTruncated,
  }
}

interface Budget {
  length: number
  tags: number
  layout: number
}

const VOID_ELEMENTS = new Set(
  'area base basefont br col command embed frame hr img input isindex keygen link meta param source track wbr'.split(
    ' ',
  ),
)
/** The library takes a few µs for each other element, only to show what is in it. */
const LAID_OUT = new Set(
  'a article aside blockquote br div footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table ul'.split(
    ' ',
  ),
)
/** Omitted: the library then takes everything as the body; of several bodies it would drop some. */
const DOCUMENT_TAGS = new Set(['html', '/html', 'head', '/head', 'body', '/body'])
const LISTS = new Set(['ol', 'ul'])
/** Laid out once per enclosing level. */
const INDENTED_ELEMENTS = new Set(['blockquote', 'ol', 'ul'])
/** A list with its own numbering, such as Roman, may indent as much as this many others. */
const NUMBERED_LEVELS = 4
/** Longer numbers would widen every line, and the library supports Roman numbers below 4,000. */
const LIST_START = /^[0-9]{1,3}$/
/** Elements whose end tag is implied by the start of one of these, if no other element is open in them. */
const ENDED_BY = new Map(
  Object.entries({
    dd: 'dd dt',
    dt: 'dd dt',
    li: 'li',
    option: 'option optgroup',
    p: 'address article aside blockquote center dd details dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table td th tr ul',
    td: 'td th tr tbody thead tfoot',
    th: 'td th tr tbody thead tfoot',
    tr: 'tr tbody thead tfoot',
  }).map(([name, others]) => [name, new Set(others.split(' '))]),
)
const KEPT_ATTRIBUTES = ['href', 'start', 'type'] as const

/**
 * The same HTML, with every element closed and without anything that does not affect the text. Limits on it hold however
 * the library parses malformed input: a comment or an attribute that looks like an end tag would deceive a count of tags.
 */
function outlineOf(html: string, budget: Budget): { html: string; isWhole: boolean } {
  const outline: Outline = { html: '', isUnfinished: false, open: [], nested: 0, budget }
  let isWhole = true
  for (const token of htmlTokens(html)) {
    isWhole = token.kind === 'text' ? addText(outline, token.text) : addTag(outline, token)
    if (!isWhole) break
  }
  closeTo(outline, 0)
  return { html: outline.html, isWhole }
}

interface Outline {
  html: string
  /** It ends with text that the next text could continue: as a character reference, or as a tag. */
  isUnfinished: boolean
  /** Open elements, outermost first. */
  open: OpenElement[]
  /** Layout levels of the open elements. */
  nested: number
  budget: Budget
}

interface OpenElement {
  name: string
  levels: number
  /** The name that the library gets, if any. */
  written: string | undefined
  /** The nearest one around it that is written. */
  parent: OpenElement | undefined
}

/** False if the budget is exhausted. */
function addText(outline: Outline, text: string): boolean {
  if (text === '') return true
  const { nested, budget } = outline
  const within = nested === 0 ? text : cutAtBlank(text, budget.layout / nested)
  if (nested > 0) budget.layout -= nested * blanksIn(within)
  const isContinued = outline.isUnfinished && CONTINUES.test(within)
  outline.html += isContinued ? `&#${within.charCodeAt(0)};${within.slice(1)}` : within
  outline.isUnfinished = UNFINISHED.test(within)
  return within.length === text.length
}

// Where a tag between two texts is left out, they must not become a character reference or a tag.
const UNFINISHED = /(?:&[^;&\s]*|<)$/
const CONTINUES = /^[a-z0-9#;!?/]/i

/** False if the budget is exhausted. */
function addTag(outline: Outline, { name, attributes }: Extract<HtmlToken, { kind: 'tag' }>) {
  const { open, budget } = outline
  if (DOCUMENT_TAGS.has(name)) return true
  budget.tags -= 1
  budget.layout -= outline.nested * TAG_LAYOUT
  if (budget.tags < 0 || budget.layout < 0) return false
  if (name.startsWith('/')) {
    closeLast(outline, name.slice(1))
    return true
  }
  while (ENDED_BY.get(open.at(-1)?.name ?? '')?.has(name)) closeTo(outline, open.length - 1)
  // As in a browser, a link ends where the next one starts.
  if (name === 'a') closeLast(outline, 'a')
  if (open.length >= MAX_DEPTH) return false
  openElement(outline, name, attributes)
  return true
}

function openElement(
  outline: Outline,
  name: string,
  attributes: (wanted: readonly string[]) => Record<string, string>,
): void {
  const { open } = outline
  const kept = LAID_OUT.has(name) ? attributes(KEPT_ATTRIBUTES) : {}
  // A link without a target is only its text.
  const isWritten = name === 'a' ? kept['href'] !== undefined : LAID_OUT.has(name)
  const levels = isWritten ? writeTag(outline, name, kept) : 0
  if (VOID_ELEMENTS.has(name)) return
  const parent = nearestWritten(open)
  open.push({ name, levels, written: isWritten ? name : undefined, parent })
  outline.nested += levels
  // What is in a list, but in no item, is laid out together.
  if (LISTS.has(parent?.name ?? '')) writeSpan(outline)
}

/** Layout levels of the element. */
function writeTag(outline: Outline, name: string, attributes: Record<string, string>): number {
  // Without an element between them, the library would end the parent here.
  if (ENDED_BY.get(nearestWritten(outline.open)?.name ?? '')?.has(name)) writeSpan(outline)
  const text = attributesText(attributes)
  write(outline, `<${name}${text}>`)
  const isNumbered = name === 'ol' && text !== ''
  return isNumbered ? NUMBERED_LEVELS : Number(INDENTED_ELEMENTS.has(name))
}

/** Writes the last open element, if it is not. */
function writeSpan(outline: Outline): void {
  const last = outline.open.at(-1)
  if (!last || last.written) return
  last.written = 'span'
  write(outline, '<span>')
}

function write(outline: Outline, tag: string): void {
  outline.html += tag
  outline.isUnfinished = false
}

function nearestWritten(open: readonly OpenElement[]): OpenElement | undefined {
  const last = open.at(-1)
  return last?.written ? last : last?.parent
}

function closeLast(outline: Outline, name: string): void {
  const at = outline.open.findLastIndex((element) => element.name === name)
  if (at >= 0) closeTo(outline, at)
}

function closeTo(outline: Outline, length: number): void {
  for (const { levels, written } of outline.open.splice(length).toReversed()) {
    outline.nested -= levels
    if (written) write(outline, `</${written}>`)
  }
}

/** Does not split a surrogate pair. */
function cutAt(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  return text.slice(0, Math.max(0, maxLength)).replace(/[\ud800-\udbff]$/, '')
}

const BLANK = 0x20

function blanksIn(text: string): number {
  let blanks = 0
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) <= BLANK) blanks += 1
  return blanks
}

/** The longest prefix with at most this many blanks. */
function cutAtBlank(text: string, maxBlanks: number): string {
  let left = maxBlanks
  for (let at = 0; at < text.length; at += 1) {
    if (text.charCodeAt(at) <= BLANK) left -= 1
    if (left < 0) return text.slice(0, at)
  }
  return text
}

function attributesText({ start = '', ...others }: Record<string, string>): string {
  const given = LIST_START.test(start) ? { ...others, start } : others
  return Object.entries(given)
    .map(
      ([name, value]) => ` ${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`,
    )
    .join('')
}
