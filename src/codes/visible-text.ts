import {
  BLOCK_ELEMENTS,
  collapseBlanks,
  decodeEntities,
  type HtmlToken,
  htmlTokenizer,
  INLINE_BOXES,
  readAttribute,
} from './html-tokens.ts'

/** The visible text, one line per block; cells of a row are separated by a tab. */
export interface VisibleText {
  text: string
  anchors: Anchor[]
  /** The beginnings of texts in a large font. */
  large: string[]
}

/** A link and the position of its text. */
export interface Anchor {
  href: string
  start: number
  end: number
  /** Alternative text of its images. */
  alt: string
}

export function visibleTextOfHtml(html: string): VisibleText {
  const page: TextBuilder = {
    ...{ text: '', anchors: [], large: [] },
    ...{ open: undefined, preDepth: 0, isLarge: false },
  }
  const tokens = htmlTokenizer(html)
  for (let token = tokens.next(); token; token = tokens.next()) {
    if (token.kind === 'text') appendText(page, token.text)
    else applyTag(page, token)
  }
  closeAnchor(page)
  return { text: page.text, anchors: page.anchors, large: page.large }
}

interface TextBuilder extends VisibleText {
  open: Anchor | undefined
  /** Number of open `pre` elements. */
  preDepth: number
  /** Whether a tag with a large font was opened and its text has not started. */
  isLarge: boolean
}

const MAX_ANCHORS = 1_000
const MAX_LARGE = 20
const MAX_LARGE_LENGTH = 24
/** From 20 px on, or with space between the characters. */
const LARGE_STYLE =
  /font-size\s*:\s*(?:[2-9][0-9](?:\.[0-9]+)?(?:px|pt)|(?:1\.[5-9]|[2-9])[0-9.]*r?em|(?:xx?-)large)|letter-spacing\s*:\s*(?:[2-9]|[1-9][0-9]|0?\.[2-9])/i
const HEADINGS = new Set(['h1', 'h2', 'h3'])

function appendText(page: TextBuilder, source: string): void {
  if (source === '') return
  const text = decodeEntities(source)
  page.text += page.preDepth > 0 ? text : collapseBlanks(text)
  if (page.isLarge && text.trim() !== '') {
    page.isLarge = false
    if (page.large.length < MAX_LARGE) page.large.push(text.trim().slice(0, MAX_LARGE_LENGTH))
  }
}

function applyTag(
  page: TextBuilder,
  { name, isEnd, source }: Extract<HtmlToken, { kind: 'tag' }>,
): void {
  if (name === 'pre') page.preDepth = Math.max(0, page.preDepth + (isEnd ? -1 : 1))
  if (!isEnd && isLarge(name, source)) page.isLarge = true
  if (name === 'a') closeAnchor(page)
  if (INLINE_BOXES.has(name)) page.text += '\t'
  else if (BLOCK_ELEMENTS.has(name)) page.text += '\n'
  if (name === 'a' && !isEnd) openAnchor(page, readAttribute(source, 'href'))
  if (name === 'img' && page.open) addAlt(page.open, readAttribute(source, 'alt'))
}

function isLarge(name: string, source: string): boolean {
  return HEADINGS.has(name) || (source.includes(':') && LARGE_STYLE.test(source))
}

function addAlt(anchor: Anchor, alt = ''): void {
  const words = alt.trim()
  if (words !== '') anchor.alt += anchor.alt === '' ? words : ` ${words}`
}

function openAnchor(page: TextBuilder, href: string | undefined): void {
  if (!href || page.anchors.length >= MAX_ANCHORS) return
  page.open = { href, start: page.text.length, end: page.text.length, alt: '' }
}

function closeAnchor(page: TextBuilder): void {
  if (!page.open) return
  page.open.end = page.text.length
  page.anchors.push(page.open)
  page.open = undefined
}

/** Plain text with hard-wrapped paragraphs joined, so that sentences are not split. */
export function visibleTextOfPlain(text: string): VisibleText {
  let joined = ''
  let last = ''
  for (const line of text.split('\n')) {
    joined += isWrapped(last, line) ? ` ${line.trimStart()}` : `\n${line}`
    last = line
  }
  return { text: joined.slice(1), anchors: [], large: [] }
}

/** Shorter lines are not wrapped. */
const WRAPPED_AT = 55

function isWrapped(last: string, next: string): boolean {
  const full = last.length >= WRAPPED_AT && last.length <= 100 && !/[:：]\s*$/.test(last)
  return full && /\S\s+\S/.test(next)
}
