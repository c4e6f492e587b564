import { BlockList, isIP } from 'node:net'
import { openLru } from './lru.ts'

/** Addresses that exist in private networks only. */
export const PRIVATE_RANGES: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::',
  '::1',
  'fc00::/7',
  'fe80::/10',
]

/** Tests whether an address is in one of the ranges: addresses or CIDR, as isIpRange accepts them. */
export function ipRangeMatcher(ranges: readonly string[]): (ip: string) => boolean {
  const blocks = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    blocks.addSubnet(address, Number(bits ?? widthOf(address)), familyOf(address))
  }
  return (ip) => {
    const plain = plainIp(ip)
    return plain !== undefined && blocks.check(plain, familyOf(plain))
  }
}

export function isIpRange(text: string): boolean {
  const [address = '', bits = '0', ...rest] = text.split('/')
  if (isIP(address) === 0 || address.includes('%') || rest.length > 0) return false
  return /^\d{1,3}$/.test(bits) && Number(bits) <= widthOf(address)
}

/** The network by which request rates are limited: an IPv4 address, or the /64 that an IPv6 customer is assigned. */
export function rateLimitNetwork(ip: string): string {
  const plain = plainIp(ip)
  // Invalid addresses share one count, so that garbage does not get a fresh allowance.
  if (plain === undefined) return 'unknown'
  if (isIP(plain) === 4) return plain
  return `${ipv6Groups(plain).slice(0, 4).map(hex).join(':')}::/64`
}

/** The network by which storage shares are counted: an IPv4 address, or the /48 that an IPv6 site is assigned. */
export function senderNetwork(ip: string): string {
  const plain = plainIp(ip)
  if (plain === undefined) return 'unknown'
  if (isIP(plain) === 4) return plain
  // As PostgreSQL formats it: its migration computes the same text.
  const site = ipv6Groups(plain).slice(0, 3)
  return `${site
    .slice(0, site.findLastIndex((group) => group !== 0) + 1)
    .map(hex)
    .join(':')}::/48`
}

// The rules are needed several times per mail.
const MAX_KNOWN_SENDERS = 10_000

/** Which limits apply to a sending host. */
export function senderLimitRules({
  rateLimits,
  relays,
}: {
  rateLimits: boolean
  relays: readonly string[]
}) {
  const isRelay = ipRangeMatcher(relays)
  const known = openLru<string, ReturnType<typeof rulesOf>>(MAX_KNOWN_SENDERS)
  const rulesOf = (ip: string) => ({
    hasRates: rateLimits && !isLoopback(ip) && !isRelay(ip),
    shareNetwork: isRelay(ip) ? undefined : senderNetwork(ip),
  })
  const find = (ip: string) => {
    const found = known.get(ip)
    if (found) return found
    const rules = rulesOf(ip)
    known.set(ip, rules)
    return rules
  }
  return {
    hasRates: (ip: string): boolean => find(ip).hasRates,
    /** The network whose storage share its mail counts towards. Shares also apply to loopback and without rate limits. */
    shareNetwork: (ip: string): string | undefined => find(ip).shareNetwork,
  }
}

export function isLoopback(ip: string): boolean {
  return LOOPBACK(ip)
}

const PRIVATE = ipRangeMatcher(PRIVATE_RANGES)

/** Whether the address exists in private networks only. */
export function isPrivateIp(ip: string): boolean {
  return PRIVATE(ip)
}

/** The address to connect to for a service that listens on `host`. */
export function localAddress(host: string): string {
  return ['', '::', '0.0.0.0'].includes(host) ? '127.0.0.1' : host
}

/** Without a zone, and with IPv4-mapped addresses as IPv4. Undefined if it is not an address. */
export function plainIp(ip: string): string | undefined {
  const family = isIP(ip)
  if (family === 0) return undefined
  if (family === 4) return ip
  const plain = ip.split('%')[0] ?? ''
  const groups = ipv6Groups(plain)
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (!mapped) return plain
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 255])
    .join('.')
}

/** The spelling under which the client address of a mail is recorded. Undefined if it is not an address. */
export function canonicalIp(text: string): string | undefined {
  const plain = plainIp(text)
  if (plain === undefined || isIP(plain) === 4) return plain
  // RFC 5952, as the system formats the address of a peer.
  return new URL(`http://[${plain}]`).hostname.slice(1, -1)
}

const LOOPBACK = ipRangeMatcher(['127.0.0.0/8', '::1'])

/** The eight groups of a valid IPv6 address. */
export function ipv6Groups(ip: string): number[] {
  const [head = '', tail] = ip.replace(/\d+\.\d+\.\d+\.\d+$/, quadToGroups).split('::')
  const before = numbers(head)
  const after = numbers(tail ?? '')
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function numbers(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}

function quadToGroups(text: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number)
  return `${hex(a * 256 + b)}:${hex(c * 256 + d)}`
}

function hex(group: number): string {
  return group.toString(16)
}

// Not with isIP: compiling its expression for IPv6 takes 10 ms in each thread.
function isIpv6(address: string): boolean {
  return address.includes(':')
}

function widthOf(address: string): number {
  return isIpv6(address) ? 128 : 32
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIpv6(address) ? 'ipv6' : 'ipv4'
}
