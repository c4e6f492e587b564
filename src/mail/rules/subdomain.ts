import {
  domainName,
  type Host,
  type MailDomain,
  parseHost,
  wildcardAbove,
} from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'

export const MAX_SUBDOMAIN = 63

/** The host that a user asks for, one label below a wildcard domain. `ownHosts`: the names of this service. */
export function parseSubdomain(
  text: string,
  domain: MailDomain,
  ownHosts: readonly string[],
): Host {
  const host = LABEL_TEXT.test(text) ? parseHost(`${text}.${domain.name}`) : undefined
  // Characters that IDNA maps to a dot would make two labels.
  if (!host || wildcardAbove(host) !== domainName(domain)) {
    throw new Problem(
      'invalid_subdomain',
      `subdomain: use 1 to ${MAX_SUBDOMAIN} letters and digits, with hyphens inside.`,
    )
  }
  if (isReservedHost(host, domain, ownHosts)) throw reservedSubdomain(text)
  return host
}

export function reservedSubdomain(text: string): Problem {
  return new Problem('reserved_subdomain', `subdomain: "${text}" is reserved. Choose another.`)
}

/** The rest is checked by parseHost, which also accepts an underscore: a name with one is no host. */
const LABEL_TEXT = /^[^._]+$/

/** True for a host below a wildcard domain that has another use, or usually has: it has no addresses. */
export function isReservedHost(
  host: Host,
  { wildcard }: MailDomain,
  ownHosts: readonly string[],
): boolean {
  const label = host.slice(0, host.indexOf('.'))
  return wildcard && (RESERVED_LABELS.has(label) || ownHosts.includes(host))
}

const RESERVED_LABELS = new Set(['www', 'mail', 'mx', 'mta-sts', 'autoconfig', 'autodiscover'])
