import { decodeEntities, type HtmlToken, htmlTokens } from './html-tokens.ts'

/** The visible text, one line per block; cells of a row are separated by a tab. */
export interface VisibleText {
  text: string
  anchors: Anchor[]
}

/** A link and the position of its text. */
export interface Anchor {
  href: string
  start: number
  end: number
  /** Alternative text of its images. */
  alt: string
}

/** Not html-to-text, which reports neither the position of a link nor which words share a cell. */
export function visibleTextOfHtml(html: string): VisibleText {
  const page: TextBuilder = { text: '', anchors: [], open: undefined, preDepth: 0 }
  for (const token of htmlTokens(html)) {
    if (token.kind === 'text') appendText(page, token.text)
    else applyTag(page, token)
  }
  closeAnchor(page)
  return { text: page.text, anchors: page.anchors }
}

interface TextBuilder extends VisibleText {
  open: Anchor | undefined
  /** Number of open `pre` elements. */
  preDepth: number
}

const MAX_ANCHORS = 1_000
const INLINE = new Set(
  'a abbr b bdi bdo big cite code del dfn em font i img ins kbd label mark nobr o:p q s samp small span strike strong sub sup tt u var wbr'.split(
    ' ',
  ),
)

function appendText(page: TextBuilder, source: string): void {
  if (source === '') return
  const text = decodeEntities(source)
  page.text += page.preDepth > 0 ? text : text.replace(/[ \t\r\n\f]+/g, ' ')
}

function applyTag(
  page: TextBuilder,
  { name, attributes }: Extract<HtmlToken, { kind: 'tag' }>,
): void {
  if (name === 'pre') page.preDepth += 1
  if (name === '/pre') page.preDepth = Math.max(0, page.preDepth - 1)
  const bare = name.replace('/', '')
  if (bare === 'a') closeAnchor(page)
  if (bare === 'td' || bare === 'th') page.text += '\t'
  else if (!INLINE.has(bare)) page.text += '\n'
  if (name === 'a') openAnchor(page, attributes(['href'])['href'])
  if (name === 'img' && page.open) {
    const { alt } = attributes(['alt'])
    if (alt) page.open.alt = `${page.open.alt} ${alt}`.trim()
  }
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
  return { text: joined.slice(1), anchors: [] }
}

/** Shorter lines are not wrapped. */
const WRAPPED_AT = 55

function isWrapped(last: string, next: string): boolean {
  const full = last.length >= WRAPPED_AT && last.length <= 100 && !/[:：]\s*$/.test(last)
  return full && /\S\s+\S/.test(next)
}
