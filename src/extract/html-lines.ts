import { decodeEntities } from './html-entities.ts'
import { type HtmlToken, htmlTokens } from './html-tokens.ts'

/** What a person sees of a text, a line for each block; cells of one row are parted by a tab. */
export interface Lines {
  text: string
  anchors: Anchor[]
}

/** A link, and where in the text its name stands. */
export interface Anchor {
  href: string
  start: number
  end: number
  /** What its pictures say for themselves. */
  alt: string
}

/** Not html-to-text, because it tells neither where a link stands in the text nor which words share a cell. */
export function linesFromHtml(html: string): Lines {
  const page: Page = { text: '', anchors: [], open: undefined, verbatim: 0 }
  for (const token of htmlTokens(html)) {
    if (token.kind === 'text') write(page, token.text)
    else readTag(page, token)
  }
  closeAnchor(page)
  return { text: page.text, anchors: page.anchors }
}

interface Page extends Lines {
  open: Anchor | undefined
  /** How many elements around this place keep their line breaks. */
  verbatim: number
}

const MAX_ANCHORS = 1_000
const INLINE = new Set(
  'a abbr b bdi bdo big cite code del dfn em font i img ins kbd label mark nobr o:p q s samp small span strike strong sub sup tt u var wbr'.split(
    ' ',
  ),
)

function write(page: Page, source: string): void {
  if (source === '') return
  const text = decodeEntities(source)
  page.text += page.verbatim > 0 ? text : text.replace(/[ \t\r\n\f]+/g, ' ')
}

function readTag(page: Page, { name, attributes }: Extract<HtmlToken, { kind: 'tag' }>): void {
  if (name === 'pre') page.verbatim += 1
  if (name === '/pre') page.verbatim = Math.max(0, page.verbatim - 1)
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

function openAnchor(page: Page, href: string | undefined): void {
  if (!href || page.anchors.length >= MAX_ANCHORS) return
  page.open = { href, start: page.text.length, end: page.text.length, alt: '' }
}

function closeAnchor(page: Page): void {
  if (!page.open) return
  page.open.end = page.text.length
  page.anchors.push(page.open)
  page.open = undefined
}
