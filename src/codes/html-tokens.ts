/** Text as written in the source, or a tag; the name of an end tag starts with `/`. */
export type HtmlToken =
  | { kind: 'text'; text: string }
  | {
      kind: 'tag'
      name: string
      /** The attributes as written. */
      source: string
      attributes(wanted: readonly string[]): Record<string, string>
    }

/**
 * Tokenizes HTML in one pass; as in a browser, a construct that is never closed extends to the end. Comments, declarations,
 * scripts and styles are empty texts, so that a caller that works in steps sees each of them. Not htmlparser2: its time is
 * quadratic in the depth of nesting (65,000 unclosed tags take many seconds).
 */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  for (let at = 0; at < html.length; ) {
    MARKUP.lastIndex = at
    const markup = MARKUP.exec(html)
    const end = markup?.index ?? html.length
    if (end > at) yield { kind: 'text', text: html.slice(at, end) }
    if (!markup) return
    const name = markup[1]?.toLowerCase()
    const found = name === undefined ? readNonTag(html, end) : readTag(html, end, name)
    yield found.token
    at = found.end
  }
}

// The name of a tag, or the start of a comment or declaration. Any other `<` is text: a mail may consist of millions.
const MARKUP = /<(?:(\/?[a-z][a-z0-9]*)|[!?/])/gi
const SKIPPED: HtmlToken = { kind: 'text', text: '' }

interface TokenEnd {
  token: HtmlToken
  /** Offset of the next token. */
  end: number
}

function readTag(html: string, at: number, name: string): TokenEnd {
  const start = at + 1 + name.length
  const end = tagEnd(html, start)
  if (SKIPPED_ELEMENTS.has(name))
    return { token: SKIPPED, end: indexAfter(html, '>', indexOfClosing(html, name, end)) }
  const source = html.slice(start, Math.min(end, at + MAX_TAG))
  const attributes = (wanted: readonly string[]) => readAttributes(source, wanted)
  return { token: { kind: 'tag', name, source, attributes }, end }
}

/** A comment or a declaration. */
function readNonTag(html: string, at: number): TokenEnd {
  const end = html.startsWith('<!--', at)
    ? indexAfter(html, '-->', at + 4)
    : indexAfter(html, '>', at + 1)
  return { token: SKIPPED, end }
}

const VALUE_OR_END = />|=\s*["']/g
const ATTRIBUTE = /([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g
const MAX_TAG = 16_384
/** Their content is not visible. */
const SKIPPED_ELEMENTS = new Set(['style', 'script', 'title'])

function indexAfter(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from)
  return found < 0 ? html.length : found + text.length
}

/** Offset after the tag; a bracket in a quoted value does not end it. */
function tagEnd(html: string, from: number): number {
  if (html[from] === '>') return from + 1
  for (let at = from; at < html.length; ) {
    VALUE_OR_END.lastIndex = at
    const found = VALUE_OR_END.exec(html)
    if (!found) return html.length
    if (found[0] === '>') return found.index + 1
    at = indexAfter(html, found[0].slice(-1), VALUE_OR_END.lastIndex)
  }
  return html.length
}

function indexOfClosing(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}`, 'gi')
  closing.lastIndex = from
  return closing.exec(html)?.index ?? html.length
}

/** The first of two equal attributes counts. */
function readAttributes(tag: string, wanted: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [, name = '', double, single, bare] of tag.matchAll(ATTRIBUTE)) {
    const key = name.toLowerCase()
    if (!wanted.includes(key) || found[key] !== undefined) continue
    found[key] = decodeEntities(double ?? single ?? bare ?? '')
  }
  return found
}

/** Decodes numeric and common named character references; unknown names stay as they are. */
export function decodeEntities(text: string): string {
  return text.includes('&') ? text.replace(ENTITY, decodeEntity) : text
}

const ENTITY = /&(?:#x([0-9a-f]{1,8})|#([0-9]{1,8})|([a-z]{2,8}[0-9]{0,2}));?/gi
const LATIN1 = `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr
deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest
Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml
ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig
agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml
eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`

const OTHERS = `amp=& lt=< gt=> quot=" apos=' rarr=→ ndash=– mdash=— lsquo=‘ rsquo=’ ldquo=“ rdquo=” bdquo=„
hellip=… bull=• euro=€ trade=™ oelig=œ zwnj=\u200c zwj=\u200d`

const NAMED = new Map([
  ...LATIN1.split(/\s/).map((name, at) => [name, String.fromCharCode(0xa0 + at)] as const),
  ...['ensp', 'emsp', 'thinsp'].map((name) => [name, ' '] as const),
  ...OTHERS.split(/\s/).map((pair) => [pair.slice(0, -2), pair.slice(-1)] as const),
])

function decodeEntity(whole: string, hex: string, decimal: string, name: string): string {
  if (name) return NAMED.get(name) ?? NAMED.get(name.toLowerCase()) ?? whole
  const code = hex ? Number.parseInt(hex, 16) : Number.parseInt(decimal, 10)
  const valid = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
  return valid ? String.fromCodePoint(code) : '\ufffd'
}
