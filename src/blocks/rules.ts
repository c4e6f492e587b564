import { domainToASCII } from 'node:url'
import { parseHost, unquoted } from '../base/address.ts'
import { foldCase } from '../base/case-folding.ts'
import { ipv6Groups, isIpRange, PRIVATE_RANGES, plainIp } from '../base/ip.ts'
import { Problem, type ProblemCode } from '../base/problem.ts'
import { printable } from '../base/text.ts'

/** What the operator blocks, in canonical form: a domain, an address, an IP address or a CIDR range. Only parseBlockEntry creates one. */
export type BlockEntry = string & { readonly brand: 'BlockEntry' }
export type BlockKind = 'domain' | 'address' | 'network'

export interface Block {
  entry: BlockEntry
  note: string
  createdAt: Date
  /** Undefined: until it is removed. */
  expiresAt: Date | undefined
  /** Rises with every change of the block list; lists are paged by it. */
  number: number
}

/** A block that was added, changed or removed. A removed one has expired. */
export type BlockChange = Pick<Block, 'entry' | 'expiresAt' | 'number'>

export const MAX_BLOCK_NOTE = 200
const MAX_LOCAL = 64
// An address with every character of its local part escaped, and some tolerance.
const MAX_ENTRY = 500
const LOCAL = /^[^\s\p{C}]+$/u
// Wider ranges block a large part of the Internet.
const WIDEST = { ipv4: 8, ipv6: 16 } as const

/** What an operator would rarely block on purpose. */
export interface OwnEntries {
  /** Relays and load balancers: addresses or CIDR ranges. */
  networks: readonly string[]
  /** Mail domains, and the domain that mail is sent from. */
  domains: readonly string[]
}

/**
 * Throws `invalid_parameter`. These need `force`, else it throws a code of their own: ranges wider than /8 (IPv6: /16), top-level
 * domains, private addresses, and what belongs to the installation.
 */
export function parseBlockEntry(
  text: string,
  { force = false, own }: { force?: boolean | undefined; own?: OwnEntries } = {},
): BlockEntry {
  const trimmed = text.trim()
  const isShort = trimmed.length <= MAX_ENTRY
  const entry = isShort ? (parseNetwork(trimmed) ?? parseSender(trimmed)) : undefined
  if (entry === undefined) {
    throw new Problem(
      'invalid_parameter',
      `${printable(JSON.stringify(trimmed.slice(0, 100)))} is not a domain, an address, an IP address or a CIDR range.`,
    )
  }
  const danger = force ? undefined : dangerOf(entry as BlockEntry, own)
  if (danger) throw new Problem(danger.code, `${entry} ${danger.text}: confirm it with force.`)
  return entry as BlockEntry
}

export function blockKind(entry: BlockEntry): BlockKind {
  if (entry.includes('@')) return 'address'
  return /[:/]|^[\d.]+$/.test(entry) ? 'network' : 'domain'
}

/** Codes of entries that are blocked only with `force`. */
export const DANGER_CODES = [
  'entry_wide',
  'entry_top_level',
  'entry_private',
  'entry_own',
] as const satisfies readonly ProblemCode[]

interface Danger {
  code: (typeof DANGER_CODES)[number]
  text: string
}

const OF_INSTALLATION: Danger = {
  code: 'entry_own',
  text: 'blocks addresses or domains of this installation',
}

function dangerOf(entry: BlockEntry, own: OwnEntries | undefined): Danger | undefined {
  const kind = blockKind(entry)
  if (kind === 'address') return undefined
  if (kind === 'domain') {
    if (!entry.includes('.'))
      return { code: 'entry_top_level', text: 'is a whole top-level domain' }
    return own?.domains.some((name) => `.${name}`.endsWith(`.${entry}`))
      ? OF_INSTALLATION
      : undefined
  }
  const network = networkOf(entry)
  const widest = WIDEST[network.family]
  if (network.bits.length < widest) return { code: 'entry_wide', text: `is wider than /${widest}` }
  const overlaps = (range: string) => hasOverlap(networkOf(range), network)
  if (own?.networks.some(overlaps)) return OF_INSTALLATION
  if (!PRIVATE_RANGES.some(overlaps)) return undefined
  return {
    code: 'entry_private',
    text: 'blocks private addresses, such as those of proxies and containers',
  }
}

function hasOverlap(one: Network, other: Network): boolean {
  if (one.family !== other.family) return false
  return one.bits.startsWith(other.bits) || other.bits.startsWith(one.bits)
}

function parseSender(text: string): string | undefined {
  const at = text.lastIndexOf('@')
  // Zone files and their exports write names with a final dot.
  const host = parseHost(text.slice(at + 1).replace(/\.$/, ''))
  if (at < 0 || host === undefined) return host
  const local = unquoted(text.slice(0, at))
  return local.length <= MAX_LOCAL && LOCAL.test(local) ? `${foldCase(local)}@${host}` : undefined
}

/** Without host bits; a range of one address as the address; IPv4-mapped ranges as IPv4. */
function parseNetwork(text: string): string | undefined {
  if (!isIpRange(text)) return undefined
  const [given = '', length] = text.split('/')
  const ip = plainIp(given) ?? given
  const isMapped = given.includes(':') && !ip.includes(':')
  const all = addressBits(ip)
  const prefix = length === undefined ? all.length : Number(length) - (isMapped ? 96 : 0)
  // ::ffff:0:0/90 and the like are no range of IPv4.
  if (prefix < 0) return undefined
  const address = formatBits(all.slice(0, prefix).padEnd(all.length, '0'))
  return prefix === all.length ? address : `${address}/${prefix}`
}

interface Network {
  family: 'ipv4' | 'ipv6'
  /** The prefix as binary digits. */
  bits: string
}

function networkOf(entry: string): Network {
  const [ip = '', length] = entry.split('/')
  const all = addressBits(ip)
  return {
    family: ip.includes(':') ? 'ipv6' : 'ipv4',
    bits: length === undefined ? all : all.slice(0, Number(length)),
  }
}

function addressBits(ip: string): string {
  const [parts, width] = ip.includes(':') ? [ipv6Groups(ip), 16] : [ip.split('.').map(Number), 8]
  return parts.map((part) => part.toString(2).padStart(width, '0')).join('')
}

function formatBits(bits: string): string {
  if (bits.length === 32) return numbersOf(bits, 8).join('.')
  const groups = numbersOf(bits, 16).map((group) => group.toString(16))
  // RFC 5952.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function numbersOf(bits: string, width: number): number[] {
  return (bits.match(new RegExp(`.{${width}}`, 'g')) ?? []).map((part) => Number.parseInt(part, 2))
}

export type BlockList = ReturnType<typeof blockList>

/** The blocks in memory. A look-up takes as many steps as a host has labels, or as there are different prefix lengths. */
export function blockList() {
  const senders = new Map<string, number>()
  /** Hosts of addresses that are or were blocked: few addresses of a mail have to be folded. */
  const hosts = new Set<string>()
  const ipv4 = prefixSet(ipv4Prefix)
  const ipv6 = prefixSet((bits: string, length) => bits.slice(0, length))

  function setNetwork({ family, bits }: Network, until: number | undefined): void {
    const { length } = bits
    if (family === 'ipv6') ipv6.set(bits, length, until)
    else ipv4.set(Number.parseInt(bits.padEnd(32, '0'), 2) | 0, length, until)
  }

  return {
    apply({ entry, expiresAt }: BlockChange, now: Date): void {
      const end = expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
      const until = end > now.getTime() ? end : undefined
      if (blockKind(entry) === 'address') hosts.add(entry.slice(entry.lastIndexOf('@') + 1))
      if (blockKind(entry) === 'network') setNetwork(networkOf(entry), until)
      else if (until === undefined) senders.delete(entry)
      else senders.set(entry, until)
    },

    hasClient(ip: string, now: Date): boolean {
      const time = now.getTime()
      if (ip.includes(':')) return !ipv6.isEmpty() && ipv6.hasPrefixOf(addressBits(ip), time)
      return !ipv4.isEmpty() && ipv4.hasPrefixOf(ipv4Number(ip), time)
    },

    /** Whether any sender is blocked. */
    hasSenders: (): boolean => senders.size > 0,

    /** `sender` as in MAIL FROM or in a From header; empty for a bounce. */
    hasSender(sender: string, now: Date): boolean {
      if (sender === '' || senders.size === 0) return false
      const time = now.getTime()
      const address = sender.replace(ROUTE, '')
      const at = address.lastIndexOf('@')
      const host = comparableHost(address.slice(at + 1))
      const has = (key: string) => (senders.get(key) ?? 0) > time
      if (hasHost(host, has)) return true
      return hosts.has(host) && has(`${foldCase(unquoted(address.slice(0, at)))}@${host}`)
    },
  }
}

/** The host or one of its parent domains. */
function hasHost(host: string, has: (domain: string) => boolean): boolean {
  for (let domain = host; ; ) {
    if (has(domain)) return true
    const dot = domain.indexOf('.')
    if (dot < 0) return false
    domain = domain.slice(dot + 1)
  }
}

/** Networks by prefix length. IPv4 as small integers, because every mail is compared with them three times. */
function prefixSet<Key>(prefixOf: (address: Key, length: number) => Key) {
  const byLength = new Map<number, Map<Key, number>>()
  return {
    isEmpty: () => byLength.size === 0,
    /** Without `until`, removes it. */
    set(address: Key, length: number, until: number | undefined): void {
      const prefixes = byLength.get(length) ?? new Map<Key, number>()
      const prefix = prefixOf(address, length)
      if (until === undefined) prefixes.delete(prefix)
      else prefixes.set(prefix, until)
      if (prefixes.size > 0) byLength.set(length, prefixes)
      else byLength.delete(length)
    },
    hasPrefixOf(address: Key, time: number): boolean {
      for (const [length, prefixes] of byLength)
        if ((prefixes.get(prefixOf(address, length)) ?? 0) > time) return true
      return false
    },
  }
}

function ipv4Number(ip: string): number {
  const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number)
  return (a << 24) | (b << 16) | (c << 8) | d
}

/** The first bits; the others are 0. */
function ipv4Prefix(address: number, length: number): number {
  return length === 0 ? 0 : address & (-1 << (32 - length))
}

// RFC 5321 appendix C: `@one,@two:` before the address is ignored.
const ROUTE = /^@[^:"]*:/

const ASCII_HOST = /^[\w.-]+$/
const IDN_LABEL = /^[\w\u0080-\u{10ffff}-]+$/u
const DOTS = /[.\u3002\uff0e\uff61]/
const FINAL_DOTS = /(?<![.\u3002\uff0e\uff61])[.\u3002\uff0e\uff61]+$/
// A label that is not ASCII takes time to convert; the last ones decide about the parent domains.
const MAX_LABELS = 10

/** In A-labels, also if a label is invalid: the parent domains of such a host are compared as well. */
function comparableHost(text: string): string {
  const host = text.replace(FINAL_DOTS, '')
  if (ASCII_HOST.test(host)) return host.toLowerCase()
  return parseHost(host) ?? host.split(DOTS).slice(-MAX_LABELS).map(comparableLabel).join('.')
}

function comparableLabel(label: string): string {
  if (ASCII_HOST.test(label) || !IDN_LABEL.test(label)) return label.toLowerCase()
  // With a second label, because a number alone is read as an IPv4 address.
  return domainToASCII(`${label}.a`).slice(0, -2) || foldCase(label)
}
