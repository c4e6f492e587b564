import type { LinkKind } from '../core/message.ts'
import { fold } from './fold.ts'
import { wordFinder, wordsOf } from './languages.ts'

/** What is known of a link. */
export interface LinkSigns {
  /** What it is called; empty for a bare address. */
  name: string
  url: URL
  /** The sentence it stands in, what comes before it on its line, and the line above. */
  sentence: string
  line: string
  above: string
}

/**
 * What a link is for. Its name is believed first, then its path; the sentence around it only where the name says
 * nothing, because a sentence about a password often leads to other places too.
 */
export function linkKind({ name, url, sentence, line, above }: LinkSigns): LinkKind {
  const folded = fold(name.slice(0, MAX_NAME))
  const named = kindIn(folded) ?? kindOfPath(url)
  if (named) return named
  if (!saysNothing(folded)) return 'other'
  return kindIn(fold(sentence)) ?? kindIn(fold(line)) ?? kindIn(fold(above)) ?? 'other'
}

const MAX_NAME = 200
const MAX_PATH = 400
const KINDS = {
  unsubscribe: 'unsubscribe',
  reset: 'reset',
  verify: 'verify',
  signIn: 'sign_in',
} as const
/** Of several the first counts: who confirms that he unsubscribes is not verified. */
const ORDER = ['unsubscribe', 'reset', 'verify', 'signIn'] as const
const find = wordFinder([...ORDER])
const HERE = wordsOf('here')
const ADDRESS = /^(?:https?:\/\/|www\.)\S*$/i

function kindIn(folded: string): LinkKind | undefined {
  const found = new Set(find(folded).map(({ kind }) => kind))
  const kind = ORDER.find((one) => found.has(one))
  return kind && KINDS[kind]
}

/** Words that say more in a path than in a sentence. */
const PATH_WORDS: [LinkKind, RegExp][] = [
  ['unsubscribe', /\b(?:unsub|optout|opt out|abmelden|preferences|subscriptions?|emailsettings)\b/],
  ['reset', /\b(?:passwords?|passwort|kennwort|contrasena|senha|motdepasse|pwd|passwd|resetpw)\b/],
  [
    'verify',
    /\b(?:verification|confirmation|activation|validation|bestaetig\w*|doi|optin|opt in)\b/,
  ],
  ['sign_in', /\b(?:signin|login|magiclink|magic|passwordless|sso|connexion|auth)\b/],
]
/** Pages of shops and of help have their own confirmations and log-ins. */
const ELSEWHERE =
  /\b(?:orders?|booking|reservation|checkout|shipping|shipment|pedidos?|commande|bestellung|help|support|faq|aide|ayuda|ajuda|hilfe|blog|privacy|terms|legal|docs)\b/

function kindOfPath({ pathname, searchParams }: URL): LinkKind | undefined {
  const acts = [...searchParams].slice(0, 20).flatMap(([key, value]) => [key, act(key, value)])
  const words = fold(decode(pathname.slice(0, MAX_PATH)))
    .concat(' ', acts.join(' ').slice(0, MAX_PATH))
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
  if (ELSEWHERE.test(words.toLowerCase())) return 'other'
  return kindIn(words) ?? PATH_WORDS.find(([, known]) => known.test(words.toLowerCase()))?.[0]
}

/** `?action=unsubscribe` says what is done; most other values are keys and numbers. */
function act(key: string, value: string): string {
  return /^(?:action|act|mode|type|do|op|flow|cmd|page|a)$/i.test(key) &&
    /^[A-Za-z_-]{1,30}$/.test(value)
    ? value
    : ''
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function saysNothing(folded: string): boolean {
  const words = folded
    .toLowerCase()
    .replace(/[^\p{L}\p{N}':/.]+/gu, ' ')
    .trim()
  return words === '' || HERE.has(words.replace(/[.:]+$/, '')) || ADDRESS.test(words)
}
