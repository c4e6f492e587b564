import { decodeEntities } from './html-entities.ts'

/** A piece of HTML: text between tags as it is written, or a tag; `/p` is the end of a `p`. */
export type HtmlToken =
  | { kind: 'text'; text: string }
  | { kind: 'tag'; name: string; attributes(wanted: readonly string[]): Record<string, string> }

/**
 * One pass over HTML, always forward: what is never closed ends the reading, as it does in a browser. Comments, declarations and the
 * content of scripts and styles are left out.
 */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  for (let at = 0; at < html.length; ) {
    const tag = html.indexOf('<', at)
    const end = tag < 0 ? html.length : tag
    if (end > at) yield { kind: 'text', text: html.slice(at, end) }
    if (tag < 0) return
    const found = TAG_START.test(html.slice(tag + 1, tag + 3))
      ? readTag(html, tag)
      : readOther(html, tag)
    if (found.token) yield found.token
    at = found.end
  }
}

interface Found {
  token?: HtmlToken
  /** Where the reading goes on. */
  end: number
}

function readTag(html: string, at: number): Found {
  TAG_NAME.lastIndex = at + 1
  const name = (TAG_NAME.exec(html)?.[0] ?? '').toLowerCase()
  const end = tagEnd(html, at + 1 + name.length)
  if (UNSEEN.has(name)) return { end: after(html, '>', indexOfClosing(html, name, end)) }
  const inside = html.slice(at + 1 + name.length, Math.min(end, at + MAX_TAG))
  const attributes = (wanted: readonly string[]) => readAttributes(inside, wanted)
  return { token: { kind: 'tag', name, attributes }, end }
}

/** A comment, a declaration, or a lone bracket. */
function readOther(html: string, at: number): Found {
  if (html.startsWith('<!--', at)) return { end: after(html, '-->', at + 4) }
  if ('!?/'.includes(html[at + 1] ?? ' ')) return { end: after(html, '>', at + 1) }
  return { token: { kind: 'text', text: '<' }, end: at + 1 }
}

const TAG_START = /^\/?[a-z]/i
const TAG_NAME = /\/?[a-z][a-z0-9]*/iy
const VALUE_OR_END = />|=\s*["']/g
const ATTRIBUTE = /([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g
const MAX_TAG = 16_384
/** Nobody reads what is in these. */
const UNSEEN = new Set(['style', 'script', 'title'])

function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from)
  return found < 0 ? html.length : found + mark.length
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

/** Of two attributes alike the first counts. */
function readAttributes(tag: string, wanted: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [, name = '', double, single, bare] of tag.matchAll(ATTRIBUTE)) {
    const key = name.toLowerCase()
    if (!wanted.includes(key) || found[key] !== undefined) continue
    found[key] = decodeEntities(double ?? single ?? bare ?? '')
  }
  return found
}
