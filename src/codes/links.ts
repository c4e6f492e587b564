import { cleanLine } from '../base/text.ts'
import { LINK_KINDS, type Link, type LinkKind } from '../shared/mail.ts'
import { fold } from './fold.ts'
import type { Anchor, VisibleText } from './visible-text.ts'
import type { Vocabulary } from './vocabulary.ts'
import { wordFinder, wordsOf } from './word-finder.ts'

/**
 * The links of a mail, each URL once: by kind, with unsubscribe links last, and in the order of the mail within a kind.
 */
export function findLinks(
  texts: VisibleText[],
  listUnsubscribe: string,
  languages: Vocabulary[],
): Link[] {
  const links = new Map<string, Link>()
  for (const lines of texts) {
    for (const anchor of lines.anchors) addLink(links, fromAnchor(lines.text, anchor, languages))
    for (const anchor of bareLinks(lines.text))
      addLink(links, fromAnchor(lines.text, anchor, languages))
  }
  for (const [, href = ''] of listUnsubscribe.slice(0, MAX_URL * 2).matchAll(BRACKETED)) {
    const url = readUrl(href)
    if (url) addLink(links, { url: url.href, text: '', host: url.host, kind: 'unsubscribe' })
  }
  const all = [...links.values()]
  return ORDER.flatMap((kind) => all.filter((link) => link.kind === kind)).slice(0, MAX_LINKS)
}

const MAX_LINKS = 100
/** Further links are ignored. */
const MAX_COLLECTED = 500
const MAX_URL = 4_096
const MAX_TEXT = 200
const LAST_KIND: LinkKind = 'unsubscribe'
const ORDER = [...LINK_KINDS.filter((kind) => kind !== LAST_KIND), LAST_KIND]
const BRACKETED = /<\s{0,9}(https?:\/\/[^<>\s]+)\s{0,9}>/gi
// A host name may be in any script; a path is ASCII, or the sentence continues after it.
const BARE = /\bhttps?:\/\/[^\s/?#<>"'\u3000-\u303f\uff00-\uffef]+(?:[/?#][!#-;=?-~]*)?/gi
const TRAILING_PUNCTUATION = ".,;:!?'*_~"

function fromAnchor(text: string, anchor: Anchor, languages: Vocabulary[]): Link | undefined {
  const url = readUrl(anchor.href)
  if (!url) return undefined
  const name = nameOf(text.slice(anchor.start, anchor.end)) || nameOf(anchor.alt)
  const bare = anchor.alt === '' && name === nameOf(anchor.href)
  const evidence = { name: bare ? '' : name, url, ...linkContext(text, anchor) }
  const kind = linkKind(evidence, languages)
  return { url: url.href, text: bare ? '' : name, host: url.host, kind }
}

function nameOf(text: string): string {
  return cleanLine(text, MAX_TEXT).trimEnd()
}

/** Only http and https, and without user info, which is used to imitate another host. */
function readUrl(href: string): URL | undefined {
  if (href.length > MAX_URL) return undefined
  const trimmed = href.trim()
  const url = URL.parse(trimmed.startsWith('//') ? `https:${trimmed}` : trimmed)
  if (!url || !/^https?:$/.test(url.protocol) || url.host === '') return undefined
  if (url.username || url.password) {
    url.username = ''
    url.password = ''
  }
  return url.href.length > MAX_URL ? undefined : url
}

function* bareLinks(text: string): Generator<Anchor> {
  let seen = 0
  for (const { 0: match, index: start } of text.matchAll(BARE)) {
    seen += 1
    if (seen > MAX_COLLECTED) return
    const href = withoutTrailingPunctuation(match.slice(0, MAX_URL + 1))
    yield { href, start, end: start + href.length, alt: '' }
  }
}

/** Trailing punctuation belongs to the sentence, as does a bracket that was opened before the URL. */
function withoutTrailingPunctuation(match: string): string {
  const href = trimPunctuation(match)
  const closes = href.endsWith(')') && !href.includes('(')
  return closes || href.endsWith(']') ? trimPunctuation(href.slice(0, -1)) : href
}

/** Not a regular expression, which would be quadratic in a run of punctuation. */
function trimPunctuation(text: string): string {
  let end = text.length
  while (end > 0 && TRAILING_PUNCTUATION.includes(text[end - 1] ?? ' ')) end -= 1
  return text.slice(0, end)
}

const MAX_AROUND = 160
const SENTENCE_START = /^[\s\S]*(?:[.!?。！？؟](?:\s|$)|[。！？\n])/
const SENTENCE_END = /[.!?。！？؟](?:\s|$)|[。！？\n]/

/** The sentence of a link, its line so far, and the line above. */
function linkContext(
  text: string,
  { start, end }: Anchor,
): Pick<LinkEvidence, 'sentence' | 'line' | 'above'> {
  const before = text.slice(Math.max(0, start - MAX_AROUND), start)
  const after = text.slice(end, end + MAX_AROUND)
  const stop = SENTENCE_END.exec(after)?.index ?? after.length
  const lineStart = before.lastIndexOf('\n') + 1
  const above = before.slice(0, lineStart).trimEnd()
  return {
    sentence: `${before.replace(SENTENCE_START, '')} ${after.slice(0, stop)}`,
    line: before.slice(lineStart),
    above: above.slice(above.lastIndexOf('\n') + 1),
  }
}

function addLink(links: Map<string, Link>, link: Link | undefined): void {
  if (!link) return
  const known = links.get(link.url)
  if (!known) {
    if (links.size < MAX_COLLECTED) links.set(link.url, link)
    return
  }
  if (known.text === '') known.text = link.text
  if (known.kind === 'other') known.kind = link.kind
}

// Limits: the first 500 links of at most 4,096 characters each; text without http:// or https:// is not a link.

interface LinkEvidence {
  /** The text of the link; '' for a bare URL. */
  name: string
  url: URL
  /** The sentence around it, its line so far, and the line above. */
  sentence: string
  line: string
  above: string
}

/**
 * The purpose of a link: by its text, then by its path. The sentence around it counts only if the text is generic, because
 * a sentence about a password often contains other links, too.
 */
function linkKind(
  { name, url, sentence, line, above }: LinkEvidence,
  languages: Vocabulary[],
): LinkKind {
  const kindFromWords = (text: string) => kindOfWords(text, languages)
  const folded = fold(name.slice(0, MAX_NAME))
  const named = kindFromWords(folded) ?? kindFromPath(url, languages)
  if (named) return named
  if (!isGenericText(folded, languages)) return 'other'
  const inSentence = kindFromWords(fold(sentence)) ?? kindFromWords(fold(line))
  return inSentence ?? kindFromWords(fold(above)) ?? 'other'
}

const MAX_NAME = 200
const MAX_PATH = 400
/** The first that matches counts: "confirm that you want to unsubscribe" is not a verification. */
const KIND_ORDER = ['unsubscribe', 'reset', 'verify', 'signIn'] as const
const findKindWords = wordFinder([...KIND_ORDER])
const ADDRESS = /^(?:https?:\/\/|www\.)\S*$/i

function kindOfWords(folded: string, languages: Vocabulary[]): LinkKind | undefined {
  const found = new Set(findKindWords(folded, languages).map(({ kind }) => kind))
  const kind = KIND_ORDER.find((one) => found.has(one))
  return kind === 'signIn' ? 'sign_in' : kind
}

/** Words that are significant in a path only. */
const PATH_WORDS: [LinkKind, RegExp][] = [
  ['unsubscribe', /\b(?:unsub|optout|opt out|abmelden|preferences|subscriptions?|emailsettings)\b/],
  ['reset', /\b(?:passwords?|passwort|kennwort|contrasena|senha|motdepasse|pwd|passwd|resetpw)\b/],
  [
    'verify',
    /\b(?:verification|confirmation|activation|validation|bestaetig\w*|doi|optin|opt in)\b/,
  ],
  ['sign_in', /\b(?:signin|login|magiclink|magic|passwordless|sso|connexion|auth)\b/],
]
/** Shop and help pages have their own confirmations and logins. */
const UNRELATED_PATHS =
  /\b(?:orders?|booking|reservation|checkout|shipping|shipment|pedidos?|commande|bestellung|help|support|faq|aide|ayuda|ajuda|hilfe|blog|privacy|terms|legal|docs)\b/

function kindFromPath(
  { pathname, searchParams }: URL,
  languages: Vocabulary[],
): LinkKind | undefined {
  const acts = [...searchParams]
    .slice(0, 20)
    .flatMap(([key, value]) => [key, actionValue(key, value)])
  const words = fold(decode(pathname.slice(0, MAX_PATH)))
    .concat(' ', acts.join(' ').slice(0, MAX_PATH))
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
  if (UNRELATED_PATHS.test(words.toLowerCase())) return 'other'
  return (
    kindOfWords(words, languages) ??
    PATH_WORDS.find(([, known]) => known.test(words.toLowerCase()))?.[0]
  )
}

/** The value in `?action=unsubscribe` is significant; most other values are tokens and numbers. */
function actionValue(key: string, value: string): string {
  const isAction = /^(?:action|act|mode|type|do|op|flow|cmd|page|a)$/i.test(key)
  return isAction && /^[A-Za-z_-]{1,30}$/.test(value) ? value : ''
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function isGenericText(folded: string, languages: Vocabulary[]): boolean {
  const words = folded
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}':/.]+/gu, ' ')
    .trim()
  const text = words.replace(/[.:]+$/, '')
  const isGeneric = languages.some((language) => wordsOf('here', language).has(text))
  return words === '' || isGeneric || ADDRESS.test(words)
}
