import { isIP } from 'node:net'
import { ipRangeMatcher, isIpRange } from '../base/ip.ts'
import { Problem } from '../base/problem.ts'
import { commaSeparated, quoted } from '../base/settings/values.ts'
import { isSpecialPurpose } from '../base/special-purpose.ts'

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
