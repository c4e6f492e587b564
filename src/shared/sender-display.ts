/** How a sender is displayed, so that a display name cannot pass for somebody else's address. */
interface SenderDisplay {
  /** What comes first; empty if the message names no sender at all. */
  title: string
  /** What follows the title; undefined where it would only repeat it. */
  address: string | undefined
  /** The display name, if it looks like the address or domain of somebody else. The title is then the address. */
  claimedName: string | undefined
}

export function displaySender(name: string, address: string): SenderDisplay {
  const shownName = visible(name)
  const shownAddress = visible(address)
  if (shownAddress === '') return { title: shownName, address: undefined, claimedName: undefined }
  const byAddress = { title: shownAddress, address: undefined }
  if (shownName === '' || isSameAddress(shownName, shownAddress)) {
    return { ...byAddress, claimedName: undefined }
  }
  if (impersonates(shownName, shownAddress)) return { ...byAddress, claimedName: shownName }
  return { title: shownName, address: shownAddress, claimedName: undefined }
}

/** True if the message must not lead its reader on with one click: the name is forged, or DMARC failed. */
export function isSuspicious(
  name: string,
  address: string,
  auth: { dmarc: string } | null | undefined,
): boolean {
  return auth?.dmarc === 'fail' || displaySender(name, address).claimedName !== undefined
}

/** By DMARC alone: it requires that SPF or DKIM match the domain in From. Without a domain there is nothing to forge. */
export function senderBadge(address: string, dmarc: string) {
  const domain = domainOf(address)
  if (domain !== '' && dmarc === 'pass') return { domain, badge: 'proven', tone: 'good' } as const
  if (domain !== '' && dmarc === 'fail') return { domain, badge: 'forged', tone: 'bad' } as const
  return { domain, badge: 'unproven', tone: '' } as const
}

/** The domain of an address in ASCII, as the DNS knows it. */
export function domainOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  const url = `http://${domain}`
  // Not URL.parse: Safari 17 does not have it.
  return URL.canParse(url) ? new URL(url).hostname : domain
}

// Characters that take no space or change the direction of the text: with them a name can be made to look like
// anything. The two variation selectors only choose between the text and the emoji form of a character.
const INVISIBLE = /[[\p{Default_Ignorable_Code_Point}\p{Cc}\ufff9-\ufffb]--[\s\ufe0e\ufe0f]]/gv
// U+2800 is a Braille cell without dots.
const BLANKS = /[\s\u2800]+/g

function visible(text: string): string {
  return text.replace(INVISIBLE, '').replace(BLANKS, ' ').trim()
}

function isSameAddress(name: string, address: string): boolean {
  const bare = name.replace(/^["'<\s]+|(?<![">'\s])[">'\s]+$/g, '')
  return bare.toLowerCase() === address.toLowerCase()
}

/** True if a word of the name is an address that is not the sender's, or a domain that the sender is not at. */
function impersonates(name: string, address: string): boolean {
  const own = address.toLowerCase()
  const words = asRead(name)
    .split(/[\s"<>()[\]{},;:|]+/)
    .map((word) => word.replace(/^'+|(?<!['.!?])['.!?]+$/g, ''))
    .filter((word) => word !== own)
  if (words.some((word) => /[\p{L}\p{N}_.+-]@[\p{L}\p{N}]/u.test(word))) return true
  const domain = domainOf(address)
  return words
    .flatMap((word) => word.match(/[\p{L}\p{N}\p{M}.-]+/gu) ?? [])
    .flatMap((word) => word.split(/\.{2,}/))
    .some((word) => isForeignDomain(word, domain))
}

// Whatever NFKC leaves that people take for a dot on the line or in the middle of it.
const DOTS = /[\u00b7\u0701\u0702\u06d4\u2022\u2027\u2219\u22c5\u3002\u30fb\ua4f8\ua60e]/g

/** The name as people read it: wide letters are letters, and whatever looks like an @ or a dot is one. */
function asRead(name: string): string {
  return (
    name
      .replace(/[\u24d0\u24b6]/g, '@')
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[\ufe0e\ufe0f]/g, '')
      .replace(/%40|&#(?:64|x40);|&commat;/g, '@')
      .replace(/%2e|&#(?:46|x2e);|&period;/g, '.')
      .replace(/ ?[([{]at[)\]}] ?/g, '@')
      .replace(/ ?[([{](?:dot|\.)[)\]}] ?/g, '.')
      .replace(DOTS, '.')
      // Zeros of Arabic digits, and commas, are dots only where they cannot be meant as what they are.
      .replace(/(?<=[a-z0-9])[\u0660\u06f0](?=[a-z])/g, '.')
      .replace(/(?<=[\p{L}\p{N}])[,\u201a](?=(?:com|net|org)(?![\p{L}\p{N}]))/gu, '.')
  )
}

function isForeignDomain(word: string, domain: string): boolean {
  const labels = word.replace(/^[.-]+|(?<![.-])[.-]+$/g, '').split('.')
  // “Co.KG” is a legal form, not a domain.
  const isDomain = labels.some((label, at) => at > 0 && labels[at - 1] !== 'co' && isEnding(label))
  if (!isDomain) return false
  const named = domainOf(labels.join('.'))
  return named !== domain && !domain.endsWith(`.${named}`)
}

// Created on demand: its data takes 4 MB.
let countries: Intl.DisplayNames | undefined
// The endings that people recognise. With all of them, names such as Node.js would be domains.
const ENDINGS = new Set(
  (
    'com net org edu gov mil int info biz name pro mobi app dev xyz online site website web shop store tech cloud club ' +
    'live top vip bank page link icu work today news support email help space fun world life services digital agency ' +
    'finance money credit cards network systems solutions center company group global team chat social media blog wiki ' +
    'zip mov security host zone one win bid loan click test example c0m рф 中国 公司 网络'
  ).split(' '),
)
// Letters of other alphabets that look like ours.
const LOOKALIKES: Partial<Record<string, string>> = Object.fromEntries(
  [...'асеорхуіјѕтмнгοενρτςօᴄᴏᴍ'].map((letter, at) => [
    letter,
    'aceopxyijstmhroevptcocom'.charAt(at),
  ]),
)
const MAX_ENDING = 24

function isEnding(label: string): boolean {
  if (label.startsWith('xn--')) return true
  // Whatever follows a hyphen is read as another word.
  const word = (label.split('-', 1)[0] ?? '').slice(0, MAX_ENDING)
  const plain = [...word.normalize('NFKD')].map((letter) => LOOKALIKES[letter] ?? letter).join('')
  const latin = plain.replace(/\p{M}/gu, '')
  return (
    ENDINGS.has(word) ||
    ENDINGS.has(latin) ||
    (/^[a-z]{2}$/.test(latin) && isCountry(latin.toUpperCase()))
  )
}

function isCountry(code: string): boolean {
  countries ??= new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  return countries.of(code) !== undefined
}
