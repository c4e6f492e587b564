import { domainToASCII } from 'node:url'

/** `local@host` in lower case, already checked; the host as A-labels. Only parseAddress and joinAddress make one. */
export type Address = string & { readonly brand: 'Address' }

/** A host name in lower-case A-labels, already checked. Only parseHost makes one. */
export type Host = string & { readonly brand: 'Host' }

// Checked before lower-casing: U+212A (Kelvin) lower-cases to an ASCII k, and two spellings must not meet by accident.
const LOCAL = /^[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*$/
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
// What domainToASCII would decode or cut never gets to it.
const HOST_TEXT = /^[A-Za-z0-9._\u0080-\u{10ffff}-]+$/u

/** The one canonicaliser of every door: SMTP, IMAP, create-session and `to=`. Undefined: nothing of ours can have this address. */
export function parseAddress(text: string): Address | undefined {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, Math.max(at, 0))
  if (local.length > 64 || !LOCAL.test(local)) return undefined
  const host = parseHost(text.slice(at + 1))
  return host && joinAddress(local.toLowerCase(), host)
}

export function parseHost(text: string): Host | undefined {
  if (text.length > 253 || !HOST_TEXT.test(text)) return undefined
  const ascii = domainToASCII(text)
  if (ascii.length === 0 || ascii.length > 253) return undefined
  // It reads 1.2.3 and 0x7f.1 as IPv4 addresses: many spellings of what is no host name.
  if (/(?:^|\.)\d+$/.test(ascii)) return undefined
  return ascii.split('.').every((label) => LABEL.test(label)) ? (ascii as Host) : undefined
}

/** Joins a local part that has already been checked (a prefix, or two words of ours). */
export function joinAddress(local: string, host: Host): Address {
  return `${local}@${host}` as Address
}

export function localOf(address: Address): string {
  return address.slice(0, address.lastIndexOf('@'))
}

export function hostOf(address: Address): Host {
  return address.slice(address.lastIndexOf('@') + 1) as Host
}

/** `ann@box.test` of `ann+shop@box.test`: whose mail that most likely is. */
export function withoutTag(address: Address): Address {
  return joinAddress(localOf(address).replace(/\+.*$/s, ''), hostOf(address))
}

/** For logs: enough to follow a case, too little to read somebody's address. */
export function maskAddress(address: Address): string {
  return `${address.slice(0, 1)}…@${hostOf(address)}`
}

/** A domain we take mail for. Its id never changes and is never used again. */
export interface MailDomain {
  id: number
  name: Host
  /** Listed, and open for new sessions and pool mail. */
  active: boolean
  /** Taken off by the operator: known only so that its id stays its own and its live sessions end normally. */
  removed: boolean
  /** Whether people may have sessions here. */
  sessions: boolean
  /** Whether mail for addresses that no session ever held goes to the pool. */
  reader: boolean
  /** Life of a session here where it differs from the general one. */
  ttlSeconds: number | undefined
}

export function acceptsSessions(domain: MailDomain): boolean {
  return domain.active && !domain.removed && domain.sessions
}
