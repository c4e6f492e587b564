import { isIP } from 'node:net'
import { ipRangeMatcher, isIpRange, plainIp } from '../base/ip.ts'
import { Problem } from '../base/problem.ts'
import { commaSeparated, quoted } from '../base/settings/values.ts'

/** Where a webhook delivers, already checked for everything but its addresses. */
export interface WebhookTarget {
  url: URL
  /** A name in lower case, or an address without brackets. */
  host: string
}

/** Hosts and networks of the operator that may be loopback, private or without TLS, on any port. */
export interface AllowedTargets {
  hosts: readonly string[]
  ranges: readonly string[]
}

export const MAX_URL_LENGTH = 2_000
const PORTS = ['', '443', '8443']
// As it is in the text: URL itself turns 0x7f.1, 2130706433 and full-width digits into 127.0.0.1.
const AUTHORITY = /^https?:\/\/([^/?#]+)/i
const NAME = /^(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/

/** Throws `invalid_url`. */
export function parseTarget(text: string): WebhookTarget {
  if (text.length > MAX_URL_LENGTH) {
    throw invalid(`at most ${MAX_URL_LENGTH} characters are allowed.`)
  }
  // URL would remove or replace them.
  if (/[\s\p{C}\\]/u.test(text))
    throw invalid('it contains a space, control character or backslash.')
  const [, authority] = AUTHORITY.exec(text) ?? []
  if (authority === undefined || !URL.canParse(text)) throw invalid('give an https URL.')
  const url = new URL(text)
  if (authority.includes('@')) throw invalid('a user name or password is not allowed.')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const written = authority.replace(/:\d*$/, '').toLowerCase()
  if (isIP(host) === 4 && written !== host)
    throw invalid('write the IPv4 address in dotted decimal.')
  if (isIP(host) === 0 && !NAME.test(host)) throw invalid('the host name is invalid.')
  url.hash = ''
  return { url, host }
}

function invalid(why: string): Problem {
  return new Problem('invalid_url', `url: ${why}`)
}

/** Why a request to these addresses of the target is not allowed; undefined if it is. */
export function targetRefusal(
  { url, host }: WebhookTarget,
  addresses: readonly string[],
  allowed: AllowedTargets,
): string | undefined {
  if (allowed.hosts.includes(host)) return undefined
  const isAllowed = ipRangeMatcher(allowed.ranges)
  if (addresses.length > 0 && addresses.every(isAllowed)) return undefined
  if (url.protocol !== 'https:') return 'https is required.'
  if (!PORTS.includes(url.port)) return 'only the ports 443 and 8443 are allowed.'
  if (isIP(host) === 0 && isLocalName(host)) return 'the host name is not public.'
  if (addresses.some(isSpecialPurpose)) return 'the address is not public.'
  return undefined
}

/** RFC 6761, 6762, 7686, 8375 and ICANN's `internal`; and names without a dot, which a search list may complete. */
function isLocalName(host: string): boolean {
  return !host.includes('.') || /\.(?:localhost|local|internal|onion|home\.arpa)$/.test(host)
}

/** An entry of MAYFLY_WEBHOOK_ALLOW; undefined if it is neither. */
export function parseAllowedTarget(text: string): Partial<AllowedTargets> | undefined {
  if (isIpRange(text)) return { ranges: [text] }
  const host = text.toLowerCase()
  return NAME.test(host) && isIP(host) === 0 && !/^[\d.]+$/.test(host)
    ? { hosts: [host] }
    : undefined
}

// The registries of special-purpose addresses of IANA, complete, including the few that are globally reachable; and multicast.
const SPECIAL_IPV4 = ipRangeMatcher(
  `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24
  192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4
  240.0.0.0/4`.split(/\s+/),
)
// Outside of global unicast are loopback, IPv4-mapped and compatible addresses, NAT64, unique local, link-local, multicast and
// all that is not assigned.
const GLOBAL_IPV6 = ipRangeMatcher(['2000::/3'])
const SPECIAL_IPV6 = ipRangeMatcher(
  '2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20'.split(' '),
)
// RFC 5214: an IPv4 address inside of an interface identifier.
const ISATAP = /:(?:0|200)?:5efe:[0-9a-f]{1,4}:[0-9a-f]{1,4}$/

/** True for every address that is not an ordinary public one. */
export function isSpecialPurpose(ip: string): boolean {
  if (isIP(ip) === 4) return SPECIAL_IPV4(ip)
  if (isIP(ip) === 0 || plainIp(ip) !== ip) return true
  const canonical = new URL(`http://[${ip}]`).hostname.slice(1, -1)
  return !GLOBAL_IPV6(ip) || SPECIAL_IPV6(ip) || ISATAP.test(canonical)
}

/** Host names, IP addresses and CIDR ranges. */
export function allowedTargets(given: string): AllowedTargets {
  const targets = commaSeparated(given).map((part) => {
    const target = parseAllowedTarget(part)
    if (target) return target
    throw new Error(`${quoted(part)} is not a host name, IP address or CIDR range`)
  })
  return {
    hosts: targets.flatMap(({ hosts = [] }) => hosts),
    ranges: targets.flatMap(({ ranges = [] }) => ranges),
  }
}
