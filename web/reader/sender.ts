import type { Message } from '../site/shapes.ts'

/** How a sender is written, so that nobody takes him for another. */
interface Written {
  /** What stands first. */
  title: string
  /** What stands behind it; none where it would say the same. */
  address: string | undefined
  /** The name that he gives himself, where it looks like the address of somebody else. */
  claims: string | undefined
}

export function written(name: string, address: string): Written {
  const plain = plainName(name)
  if (address === '') return { title: plain, address: undefined, claims: undefined }
  if (plain === '' || same(plain, address)) {
    return { title: address, address: undefined, claims: undefined }
  }
  if (looksLikeAnother(plain, address)) return { title: address, address: undefined, claims: plain }
  return { title: plain, address, claims: undefined }
}

/** The part behind the @, as the DNS knows it. */
export function domainOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  try {
    return new URL(`http://${domain}`).hostname
  } catch {
    return domain
  }
}

// Marks that take no room, or turn the text around: with them a name can be made to look like anything.
const UNSEEN =
  /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\ufeff\uffa0]/g

function plainName(name: string): string {
  return name.replace(UNSEEN, '').replace(/\s+/g, ' ').trim()
}

function same(name: string, address: string): boolean {
  return (
    name.replace(/^["'<\s]+|(?<![">'\s])[">'\s]+$/g, '').toLowerCase() === address.toLowerCase()
  )
}

/** An address that is not his, or a place that he is not at, among the words of his name. */
function looksLikeAnother(name: string, address: string): boolean {
  const own = address.toLowerCase()
  const rest = asRead(name)
    .split(/[\s"<>()[\]{},;:|]+/)
    .map((word) => word.replace(/^'+|(?<!['.!?])['.!?]+$/g, ''))
    .filter((word) => word !== own)
  if (rest.some((word) => /[\p{L}\p{N}_.+-]@[\p{L}\p{N}]/u.test(word))) return true
  const domain = domainOf(address)
  return rest
    .flatMap((word) => word.match(/[\p{L}\p{N}.-]+/gu) ?? [])
    .flatMap((word) => word.split(/\.{2,}/))
    .some((word) => isPlaceElsewhere(word, domain))
}

/** As people read it: wide letters are letters, and whatever looks like an @ or a dot is one. */
function asRead(name: string): string {
  return name
    .replaceAll('\u24d0', '@')
    .normalize('NFKC')
    .replace(/[\u3002\u00b7\u2027]/g, '.')
    .replace(/ ?[([]at[)\]] ?/gi, '@')
    .toLowerCase()
}

function isPlaceElsewhere(word: string, domain: string): boolean {
  const labels = word.replace(/^[.-]+|(?<![.-])[.-]+$/g, '').split('.')
  // “Co.KG” is how firms end, not a place.
  const isPlace = labels.some((label, at) => at > 0 && labels[at - 1] !== 'co' && isEnding(label))
  if (!isPlace) return false
  const named = domainOf(labels.join('.'))
  return named !== domain && !domain.endsWith(`.${named}`)
}

const COUNTRIES = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
// Those that people know for the ends of addresses. More would make places of names such as Node.js.
const ENDINGS = new Set(
  (
    'com net org edu gov mil int info biz name pro mobi app dev xyz online site website web shop store tech cloud club ' +
    'live top vip bank page link icu work today news support email help space fun world life services digital agency ' +
    'finance money credit cards network systems solutions center company group global team chat social media blog wiki ' +
    'zip mov security host zone one win bid loan click test example рф 中国 公司 网络'
  ).split(' '),
)
// Letters of other alphabets that look like ours.
const ALIKE: Partial<Record<string, string>> = Object.fromEntries(
  [...'асеорхуіјѕтмнгοενρτ'].map((letter, at) => [letter, 'aceopxyijstmhroevpt'.charAt(at)]),
)

function isEnding(label: string): boolean {
  if (label.startsWith('xn--')) return true
  // Whatever stands behind a hyphen is read as another word.
  const word = (label.split('-', 1)[0] ?? '').slice(0, MAX_ENDING)
  const plain = [...word.normalize('NFKD')].map((letter) => ALIKE[letter] ?? letter).join('')
  const latin = plain.replace(/\p{M}/gu, '')
  return (
    ENDINGS.has(word) ||
    ENDINGS.has(latin) ||
    (/^[a-z]{2}$/.test(latin) && COUNTRIES.of(latin.toUpperCase()) !== undefined)
  )
}

const MAX_ENDING = 24

type Checks = NonNullable<Message['auth']>

/** `proven`: the domain's owner vouches for it; `forged`: it was asked for and failed; `unproven`: nobody can tell. */
type Verdict = 'proven' | 'forged' | 'unproven'

export function verdictOf({ dmarc }: Pick<Checks, 'dmarc'>): Verdict {
  if (dmarc === 'pass') return 'proven'
  return dmarc === 'fail' ? 'forged' : 'unproven'
}

/** Nobody should be led on with one click by who only seems to be somebody. */
export function doubtful(message: Pick<Message, 'sender_name' | 'sender_email' | 'auth'>): boolean {
  const { sender_name: name, sender_email: address, auth } = message
  return (
    written(name, address).claims !== undefined || (auth !== null && verdictOf(auth) === 'forged')
  )
}
