import { decodeEntities } from './html-entities.ts'

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

/**
 * One pass over HTML, always forward: what is never closed ends the reading, as it does in a browser. Not
 * html-to-text, because it tells neither where a link stands in the text nor which words share a cell.
 */
export function linesFromHtml(html: string): Lines {
  const page: Page = { text: '', anchors: [], open: undefined, verbatim: 0 }
  for (let at = 0; at < html.length; ) {
    const tag = html.indexOf('<', at)
    const end = tag < 0 ? html.length : tag
    write(page, html.slice(at, end))
    if (tag < 0) break
    at = TAG_START.test(html.slice(tag + 1, tag + 3))
      ? readTag(page, html, tag)
      : readOther(page, html, tag)
  }
  closeAnchor(page)
  return { text: page.text, anchors: page.anchors }
}

interface Page extends Lines {
  open: Anchor | undefined
  /** How many elements around this place keep their line breaks. */
  verbatim: number
}

const TAG_START = /^\/?[a-z]/i
const TAG_NAME = /\/?[a-z][a-z0-9]*/iy
const VALUE_OR_END = />|=\s*["']/g
const ATTRIBUTE = /([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g
const MAX_TAG = 16_384
const MAX_ANCHORS = 1_000
/** Nobody reads what is in these. */
const UNSEEN = new Set(['style', 'script', 'title'])
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

/** A comment, a declaration, or a lone bracket; returns where the reading goes on. */
function readOther(page: Page, html: string, at: number): number {
  if (html.startsWith('<!--', at)) return after(html, '-->', at + 4)
  if ('!?/'.includes(html[at + 1] ?? ' ')) return after(html, '>', at + 1)
  write(page, '<')
  return at + 1
}

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from)
  return found < 0 ? html.length : found + mark.length
}

function readTag(page: Page, html: string, at: number): number {
  TAG_NAME.lastIndex = at + 1
  const name = (TAG_NAME.exec(html)?.[0] ?? '').toLowerCase()
  const end = tagEnd(html, at + 1 + name.length)
  if (UNSEEN.has(name)) return after(html, '>', indexOfClosing(html, name, end))
  if (name === 'pre') page.verbatim += 1
  if (name === '/pre') page.verbatim = Math.max(0, page.verbatim - 1)
  const bare = name.replace('/', '')
  if (bare === 'a') closeAnchor(page)
  if (bare === 'td' || bare === 'th') page.text += '\t'
  else if (!INLINE.has(bare)) page.text += '\n'
  if (name === 'a') openAnchor(page, html.slice(at + 2, Math.min(end, at + MAX_TAG)))
  if (name === 'img' && page.open) {
    const { alt } = attributes(html.slice(at + 4, Math.min(end, at + MAX_TAG)), ['alt'])
    if (alt) page.open.alt = `${page.open.alt} ${alt}`.trim()
  }
  return end
}

/** Where the tag is over; a bracket inside a quoted value does not count. */
function tagEnd(html: string, from: number): number {
  for (let at = from; at < html.length; ) {
    VALUE_OR_END.lastIndex = at
    const found = VALUE_OR_END.exec(html)
    if (!found) return html.length
    if (found[0] === '>') return found.index + 1
    at = after(html, found[0].slice(-1), VALUE_OR_END.lastIndex)
  }
  return html.length
}

function indexOfClosing(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}`, 'gi')
  closing.lastIndex = from
  return closing.exec(html)?.index ?? html.length
}

function openAnchor(page: Page, tag: string): void {
  const { href } = attributes(tag, ['href'])
  if (!href || page.anchors.length >= MAX_ANCHORS) return
  page.open = { href, start: page.text.length, end: page.text.length, alt: '' }
}

function closeAnchor(page: Page): void {
  if (!page.open) return
  page.open.end = page.text.length
  page.anchors.push(page.open)
  page.open = undefined
}

/** Of two attributes alike the first counts. */
function attributes(tag: string, wanted: string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [, name = '', double, single, bare] of tag.matchAll(ATTRIBUTE)) {
    const key = name.toLowerCase()
    if (!wanted.includes(key) || found[key] !== undefined) continue
    found[key] = decodeEntities(double ?? single ?? bare ?? '')
  }
  return found
}
