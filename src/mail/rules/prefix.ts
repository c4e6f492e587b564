import { Problem } from '../../base/problem.ts'

export const MAX_PREFIX = 64
// Before lower-casing, as with addresses: some letters outside ASCII lower-case to ASCII ones.
export const PREFIX = /^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/

/** The local part a user asks for: lower-cased and validated. Reserved ones are refused, unless it is for a domain of the user's own. */
export function parsePrefix(text: string, { isOwn = false } = {}): string {
  const prefix = text.toLowerCase()
  if (text.length > MAX_PREFIX || !PREFIX.test(text)) {
    throw new Problem(
      'invalid_prefix',
      'prefix: use 1 to 64 of a-z and 0-9, with single dots, hyphens or underscores inside.',
    )
  }
  if (!isOwn && isReservedLocalPart(prefix)) {
    throw new Problem('reserved_prefix', `prefix: "${prefix}" is reserved. Choose another.`)
  }
  return prefix
}

/** True for names that represent the domain itself: certificate authorities and people trust mail to and from them. */
export function isReservedLocalPart(local: string): boolean {
  return RESERVED.has(local.replace(/[._+-]/g, ''))
}

/** True for the two names whose mail is stored for the operator. */
export function isOperatorLocalPart(local: string): boolean {
  return local === 'postmaster' || local === 'abuse'
}

// Compared without separators: ssl-admin, ssl.admin and ssladmin are the same name.
// RFC 2142 names, the addresses certificate authorities accept, and names that programs send from.
const RESERVED = new Set(
  `abuse accounts admin administrator admins anonymous billing bounce bounces cert certadmin certificate certificates
  certmaster contact daemon devnull dmarc dns donotreply ftp ftpadmin help helpdesk hostmaster info is it itadmin
  legal listserv localhost mail mailerdaemon maildaemon mailer mailmaster majordomo marketing me mis news newsmaster noc
  nobody noreply notification notifications null operator owner password payments pki popmaster postmaster privacy
  register registrar registration root sales security smtp smtpadmin spam ssl ssladmin ssladministrator sslwebmaster
  status support sysadmin sysmaster system team trouble unsubscribe usenet user users usermaster uucp verify webadmin
  webmaster whois www wwwadmin`.split(/\s+/),
)

/** Two made-up words of three syllables and three digits, `tovuna.lemisa472`: 43 random bits that can be read out over the phone. */
export function randomLocalPart(randomBytes: (count: number) => Uint8Array): string {
  const { word, digits } = drawFrom(randomBytes)
  return `${word(3)}.${word(3)}${digits()}`
}

/** A made-up word of four syllables and three digits, `tovunale472`: 32 random bits, beside those of the local part. */
export function randomLabel(randomBytes: (count: number) => Uint8Array): string {
  const { word, digits } = drawFrom(randomBytes)
  return `${word(4)}${digits()}`
}

function drawFrom(randomBytes: (count: number) => Uint8Array) {
  // 64 bits for 43: the bias is negligible.
  let left = Buffer.from(randomBytes(8)).readBigUInt64BE()
  const draw = (choices: number) => {
    const drawn = Number(left % BigInt(choices))
    left /= BigInt(choices)
    return drawn
  }
  return {
    word: (syllables: number) =>
      Array.from({ length: syllables }, () => SYLLABLES[draw(SYLLABLES.length)]).join(''),
    digits: () => String(draw(1_000)).padStart(3, '0'),
  }
}

// Without the consonants that most offensive words have, and those that are pronounced differently in other languages.
const SYLLABLES = [...'bdlmnrstvw'].flatMap((consonant) =>
  [...'aeiou'].map((vowel) => consonant + vowel),
)
