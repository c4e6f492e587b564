import { compile } from 'html-to-text'
import { type HtmlToken, htmlTokens } from '../extract/html-tokens.ts'

/** Makes text for readers and programs that take no HTML. All HTML of one mail is made into text by the same converter. */
interface HtmlConverter {
  convert(html: string): string
  /** True when the end of some text was left out. */
  isTruncated(): boolean
}

// For all parts of a mail together: a mail may have a thousand of them.
const MAX_LENGTH = 1_000_000
const MAX_TAGS = 20_000
// The library's own limit, at which it would leave out text without telling.
const MAX_DEPTH = 250
/**
 * The library lays out the lines of a quotation or a list anew at each level around it, so that the time goes with the sum of lines
 * × levels. This takes about 0.2 s; 200 quotations around 19,000 lines would take 1.3 s.
 */
const MAX_LAYOUT = 1_000_000
/** A tag counts as so many blanks. */
const TAG_LAYOUT = 4
/**
 * The text of HTML can be longer than the HTML: every line of a quotation or a list is indented, and a rule is 40 characters.
 * Bounded by the input, so that the size of a mail says how costly it is to read what was parsed.
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

/** Texts longer than any letter are cut, as are those whose structure would take too long. */
export function htmlConverter(): HtmlConverter {
  const budget: Budget = { length: MAX_LENGTH, tags: MAX_TAGS, layout: MAX_LAYOUT }
  let outputLength = 0
  let isTruncated = false
  return {
    convert(html) {
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
  'area base br col embed hr img input link meta param source wbr'.split(' '),
)
/** Without them the library takes all for the body; of several bodies it would leave some out. */
const DOCUMENT_TAGS = new Set(['html', '/html', 'head', '/head', 'body', '/body'])
/** Laid out level by level. */
const INDENTED_ELEMENTS = new Set(['blockquote', 'ol', 'ul'])
/** A list with numbers of its own, such as Roman ones, indents its lines by as much as so many others. */
const NUMBERED_LEVELS = 4
/** A longer number is the width of each line, and of Roman numbers the library knows those below 4,000. */
const LIST_START = /^[0-9]{1,3}$/
/** Elements that end where one of these begins, if nothing else is open in them. */
const ENDED_BY: Record<string, ReadonlySet<string>> = Object.fromEntries(
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
/** Attributes that change the text. */
const KEPT_ATTRIBUTES = ['href', 'start', 'type'] as const

/**
 * The same HTML with every element closed and nothing in it that changes no text. Limits on it hold whatever the library makes of
 * odd input: a comment or an attribute that looks like the end of an element deceives a count of tags, but not this.
 */
function outlineOf(html: string, budget: Budget): { html: string; isWhole: boolean } {
  const outline: Outline = { html: '', open: [], nested: 0, levels: [], budget }
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
  /** The elements around this place, outermost first. */
  open: string[]
  /** How many of them are laid out level by level; in `levels`, as how many each of `open` counts. */
  nested: number
  levels: number[]
  budget: Budget
}

/** False when the budget does not allow it, or not all of it. */
function addText(outline: Outline, text: string): boolean {
  const { nested, budget } = outline
  const within = nested === 0 ? text : cutAtBlank(text, budget.layout / nested)
  if (nested > 0) budget.layout -= nested * blanksIn(within)
  outline.html += within === '<' ? '&lt;' : within
  return within.length === text.length
}

/** The same. */
function addTag(outline: Outline, { name, attributes }: Extract<HtmlToken, { kind: 'tag' }>) {
  const { open, budget } = outline
  if (DOCUMENT_TAGS.has(name)) return true
  budget.tags -= 1
  budget.layout -= outline.nested * TAG_LAYOUT
  if (budget.tags < 0 || budget.layout < 0) return false
  if (name.startsWith('/')) {
    const at = open.lastIndexOf(name.slice(1))
    if (at >= 0) closeTo(outline, at)
    return true
  }
  while (ENDED_BY[open.at(-1) ?? '']?.has(name)) closeTo(outline, open.length - 1)
  // As in a browser, a link ends where the next begins.
  const link = name === 'a' ? open.lastIndexOf('a') : -1
  if (link >= 0) closeTo(outline, link)
  if (open.length >= MAX_DEPTH) return false
  const { start = '', ...kept } = attributes(KEPT_ATTRIBUTES)
  const given = LIST_START.test(start) ? { ...kept, start } : kept
  outline.html += `<${name}${attributesText(given)}>`
  if (VOID_ELEMENTS.has(name)) return true
  const isNumbered = name === 'ol' && Object.keys(given).length > 0
  const levels = isNumbered ? NUMBERED_LEVELS : Number(INDENTED_ELEMENTS.has(name))
  open.push(name)
  outline.levels.push(levels)
  outline.nested += levels
  return true
}

function closeTo(outline: Outline, length: number): void {
  while (outline.open.length > length) {
    const name = outline.open.pop() ?? ''
    outline.nested -= outline.levels.pop() ?? 0
    outline.html += `</${name}>`
  }
}

/** Not between the halves of a character. */
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

/** As much of the text as has no more blanks than that. */
function cutAtBlank(text: string, maxBlanks: number): string {
  let left = maxBlanks
  for (let at = 0; at < text.length; at += 1) {
    if (text.charCodeAt(at) <= BLANK) left -= 1
    if (left < 0) return text.slice(0, at)
  }
  return text
}

function attributesText(attributes: Record<string, string>): string {
  return Object.entries(attributes)
    .map(
      ([name, value]) => ` ${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`,
    )
    .join('')
}
