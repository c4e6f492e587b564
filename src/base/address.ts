import { domainToASCII } from 'node:url'

/** `local@host` in lower case, already validated; the host in A-labels. Only parseAddress and joinAddress create one. */
export type Address = string & { readonly brand: 'Address' }

/** A host name in lower-case A-labels, already validated. Only parseHost creates one. */
export type Host = string & { readonly brand: 'Host' }

/** `*.box.test`: all hosts one label below box.test. Only parseMailDomain and wildcardAbove create one. */
export type Wildcard = `*.${string}` & { readonly brand: 'Wildcard' }

/** A mail domain as the operator names it, and as it is stored. */
export type DomainName = Host | Wildcard

// Matched before lower-casing: U+212A (Kelvin sign) lower-cases to an ASCII k, which would make two addresses equal.
const LOCAL = /^[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*$/
// In documents, which need not know IDNA: any character outside ASCII passes.
const ANY_LABEL = '[^\\x00-/:-@\\[-^`{-\\x7f]+(?:-+[^\\x00-/:-@\\[-^`{-\\x7f]+)*'
export const ADDRESS_SYNTAX = `${LOCAL.source.slice(1, -1)}@${ANY_LABEL}(?:\\.${ANY_LABEL})*`
const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const HOST = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`)
// Keeps out of domainToASCII what it would decode or strip.
const HOST_TEXT = /^[A-Za-z0-9._\u0080-\u{10ffff}-]+$/u

/** Canonical form for SMTP, IMAP, create-session and `to=`. Undefined if no mailbox of ours can have this address. */
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
  // domainToASCII reads 1.2.3 and 0x7f.1 as IPv4 addresses.
  if (/(?:^|\.)\d+$/.test(ascii)) return undefined
  return HOST.test(ascii) ? (ascii as Host) : undefined
}

/** A name that can be a mail domain: with at least two labels. */
export function parseDomainName(text: string): Host | undefined {
  const name = parseHost(text)
  return name?.includes('.') ? name : undefined
}

/** A domain name, or `*.` before one. */
export function parseMailDomain(text: string): DomainName | undefined {
  if (!text.startsWith('*.')) return parseDomainName(text)
  const name = parseDomainName(text.slice(2))
  return name && (`*.${name}` as Wildcard)
}

export function isWildcard(name: DomainName): name is Wildcard {
  return name.startsWith('*')
}

/** The wildcard that a host may belong to: `*.box.test` for a.box.test. Undefined for a host of two labels. */
export function wildcardAbove(host: Host): Wildcard | undefined {
  const name = host.slice(host.indexOf('.') + 1)
  return name.includes('.') && name !== host ? (`*.${name}` as Wildcard) : undefined
}

/** A host with addresses of this mail domain: itself, or one below a wildcard. */
export function sampleHost(name: string): Host {
  return name.replace(/^\*/, 'mayfly') as Host
}

/** `box.test`, also of `*.box.test`. */
export function withoutWildcard(name: string): Host {
  return name.replace(/^\*\./, '') as Host
}

/** The local part must already be validated (a prefix, or a generated name). */
export function joinAddress(local: string, host: Host): Address {
  return `${local}@${host}` as Address
}

/** RFC 5321 4.1.2: `"ann"` and `"a\nn"` are the local part `ann`. */
export function unquoted(local: string): string {
  if (!/^".*"$/s.test(local)) return local
  const text = local.slice(1, -1).replaceAll(/\\(.)/gs, '$1')
  return text.includes('"') ? local : text
}

export function localOf(address: Address): string {
  return address.slice(0, address.lastIndexOf('@'))
}

export function hostOf(address: Address): Host {
  return address.slice(address.lastIndexOf('@') + 1) as Host
}

/** `ann+shop@box.test` becomes `ann@box.test`. */
export function withoutTag(address: Address): Address {
  return joinAddress(localOf(address).replace(/\+.*$/s, ''), hostOf(address))
}

/** For logs: enough to trace a case, without disclosing the address. */
export function maskAddress(address: Address): string {
  return `${address.slice(0, 1)}…@${hostOf(address)}`
}

/** `jo…e@gmail.com` */
export function maskAccountEmail(email: Address): string {
  const local = localOf(email)
  const shown =
    local.length < 5 ? `${local.slice(0, 1)}…` : `${local.slice(0, 2)}…${local.slice(-1)}`
  return `${shown}@${hostOf(email)}`
}

/** A domain we accept mail for. Its id never changes and is never reused. */
export interface MailDomain {
  id: number
  name: Host
  /** Its addresses are at any host one label below `name`. */
  wildcard: boolean
  /** Listed, and available for new sessions and pool mail. */
  active: boolean
  /** Removed by the operator. The row stays so that the id is not reused and live sessions can expire. */
  removed: boolean
  sessions: boolean
  /** Whether mail for addresses without a session is taken: into the pool, or for its owner. */
  reader: boolean
  /** Lifetime of a session here; undefined for the default. */
  ttlSeconds: number | undefined
  /** The key that holds it; undefined if it is the operator's. */
  owner?: string
}

export function domainName({ name, wildcard }: Pick<MailDomain, 'name' | 'wildcard'>): DomainName {
  return wildcard ? (`*.${name}` as Wildcard) : name
}

/** Whether a session can be created there, with this key: at a key holder's domain only with theirs. */
export function acceptsSessions(domain: MailDomain, keyId?: string): boolean {
  const isOffered = domain.owner === undefined ? domain.sessions : domain.owner === keyId
  return domain.active && !domain.removed && isOffered
}

/** Names for documentation (RFC 2606), which nobody owns: those of the default settings and of the template. */
export function isExampleName(host: string): boolean {
  return /(?:^|\.)example(?:\.(?:com|net|org))?$/.test(host)
}
