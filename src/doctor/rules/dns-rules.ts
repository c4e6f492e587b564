import { isIP } from 'node:net'
import { type CheckResult, failure, ok, skipped, warning } from '../../base/check-result.ts'
import { isLoopback } from '../../base/ip.ts'
import { addressRecord, mxRecord, ptrRecord } from './dns-records.ts'
import { type Lookup, recordsOf } from './result.ts'

export interface MxRecord {
  exchange: string
  priority: number
}

/** A name right below a top-level domain does not exist before it is registered; others may only lack records. */
export function isUnregistered(domain: string, lookup: Lookup<unknown>): boolean {
  const isMissing = 'records' in lookup && lookup.isMissing === true
  return isMissing && domain.split('.').length === 2 && !domain.startsWith('*.')
}

/** Whether mail for the domain reaches this host. `alias`: the name that the domain is an alias of. */
export function evaluateMx(
  domain: string,
  host: string,
  mx: Lookup<MxRecord>,
  alias?: string,
): CheckResult {
  if ('error' in mx) return unanswered(domain, mx.error)
  const publish = mxRecord(domain, host)
  const sorted = mx.records.toSorted((a, b) => a.priority - b.priority)
  const seen = sorted.map(({ exchange, priority }) => `${priority} ${exchange || '.'}`).join(', ')
  const ours = sorted.find(({ exchange }) => sameName(exchange, host))
  if (isUnregistered(domain, mx)) {
    const register = `Register the domain, or renew it, and let its registrar delegate it to your name servers: dig +trace ${domain}\nOr remove it: mayfly domain remove ${domain}`
    return failure(`${domain} does not exist in DNS`, register)
  }
  // RFC 1034 3.6.2: beside an alias there can be no other record.
  if (alias !== undefined && !ours) {
    const replace = `Replace the CNAME record by the addresses of ${alias} (some providers: ALIAS, ANAME or CNAME flattening), then publish: ${publish}`
    return failure(`an alias of ${alias}, whose MX records apply: ${seen || 'none'}`, replace)
  }
  if (sorted.length === 0) return failure('no MX record', publish)
  // RFC 7505: a null MX record says that the domain accepts no mail.
  const isName = ({ exchange }: MxRecord) => exchange.length > 1 && isIP(exchange) === 0
  if (!sorted.every(isName)) return failure(`${seen}: not a host name`, `Replace it: ${publish}`)
  const dotless = sorted.find(({ exchange }) => sameName(exchange, `${host}.${domain}`))
  const endWithDot = `Replace it, with a dot at the end: ${publish}`
  if (dotless) return failure(`${seen}: the zone was appended to the host name`, endWithDot)
  if (!ours) return failure(`${seen}: none of them is ${host}`, `Replace it: ${publish}`)
  const other = sorted.find(
    ({ exchange, priority }) => priority <= ours.priority && !sameName(exchange, host),
  )
  if (!other) return ok(seen)
  const fix = `If ${other.exchange} is not one of your nodes, remove its record. Otherwise ignore this.`
  return warning(`${seen}: senders also try ${other.exchange}`, fix)
}

/** `own` are the addresses of this machine that others could reach; behind NAT none, or only those of IPv6. */
export function evaluateAddresses(
  host: string,
  { a, aaaa, cname }: Record<'a' | 'aaaa' | 'cname', Lookup<string>>,
  { own, isPrivate }: { own: readonly string[]; isPrivate(ip: string): boolean },
): CheckResult {
  const notPublic =
    'Set MAYFLY_SMTP_HOSTNAME to the target of your MX record, such as mx.example.org'
  if (!host.includes('.')) return failure(`${host} is not a public name`, notPublic)
  const unknown = [a, aaaa].find((lookup) => 'error' in lookup)
  if (unknown) return unanswered(host, unknown.error)
  const found = [...recordsOf(a), ...recordsOf(aaaa)]
  const seen = found.join(', ')
  const isBehindNat = !own.some((ip) => isIP(ip) === 4)
  const right = isBehindNat ? ['ADDRESS', ...own] : own
  const publish = `Publish only: ${right.map((ip) => addressRecord(host, ip)).join('\n')}`
  if (found.length === 0) return failure(`${host} has no address`, publish)
  const hidden = found.find(isPrivate)
  // Hardly anyone publishes 127.0.1.1, but installers write it to /etc/hosts.
  const hosts = '\nIf DNS has another address, /etc/hosts hides it: set MAYFLY_DNS'
  if (hidden !== undefined) {
    const fix = isLoopback(hidden) ? `${publish}${hosts}` : publish
    return failure(`${seen}: ${hidden} cannot be reached from the Internet`, fix)
  }
  const [alias] = recordsOf(cname)
  if (alias !== undefined) return warning(`an alias of ${alias}, which MX records forbid`, publish)
  const known = isBehindNat ? recordsOf(aaaa) : found
  const foreign = own.length === 0 ? undefined : known.find((ip) => !own.includes(ip))
  if (foreign !== undefined) {
    const ignore = `\nIf ${foreign} is another node or your load balancer, ignore this.`
    return warning(`${seen}: ${foreign} is not of this machine`, `${publish}${ignore}`)
  }
  if (recordsOf(a).length === 0)
    return warning(`${seen}: most senders need an IPv4 address`, publish)
  return ok(seen)
}

/** Mail servers of others log and sometimes judge by the reverse name, even of hosts that only receive. */
export function evaluatePtr(
  host: string,
  reverse: ReadonlyMap<string, Lookup<string>>,
): CheckResult {
  const broken = [...reverse].find(([, names]) => 'error' in names && BROKEN_ZONE.test(names.error))
  if (broken) {
    const [ip] = broken
    const ask = `Its zone is broken: ask your hosting provider to repair it, or to set the reverse name: dig -x ${ip}`
    return warning(`${ip}: the reverse name cannot be looked up (SERVFAIL or REFUSED)`, ask)
  }
  const known = [...reverse].filter(([, names]) => 'records' in names)
  const text = known.map(([ip, names]) => `${ip}: ${recordsOf(names).join(', ') || 'no name'}`)
  const wrong = known.filter(([, names]) => !recordsOf(names).some((name) => sameName(name, host)))
  if (known.length === 0) return skipped('no reverse name could be looked up')
  if (wrong.length === 0) return ok(text.join('; '))
  const records = wrong.map(([ip]) => ptrRecord(ip, host)).join('\n')
  return warning(text.join('; '), `Set the reverse name at your hosting provider:\n${records}`)
}

// Other errors may be those of this network.
const BROKEN_ZONE = /^E?(?:SERVFAIL|REFUSED)$/

/** The tags of a record such as `v=DMARC1; p=reject`. */
export function tagsOf(record: string): Map<string, string> {
  const pairs = record.split(';').map((part) => part.split('='))
  return new Map(
    pairs.map(([name = '', ...value]) => [name.trim().toLowerCase(), value.join('=').trim()]),
  )
}

/** Return codes of a block list: 127.0.0.x is a listing; 127.255.255.x, or 127.0.0.1 of SURBL, refuses the query. */
export function evaluateListing(
  what: string,
  lists: ReadonlyMap<string, Lookup<string>>,
): CheckResult {
  const isListing = (code: string) => /^127\.0\./.test(code) && code !== '127.0.0.1'
  const namesWhere = (isWanted: (codes: readonly string[]) => boolean) =>
    [...lists]
      .filter(([, found]) => 'records' in found && isWanted(found.records))
      .map(([list]) => list)
      .join(', ')
  const listed = namesWhere((codes) => codes.some(isListing))
  const clear = namesWhere((codes) => codes.length === 0)
  const ask = `See why, and request removal, on the site of each list: ${listed}`
  if (listed !== '') return warning(`${what} is listed by ${listed}`, ask)
  if (clear === '') return skipped(`no answer from ${[...lists.keys()].join(', ')}`)
  return ok(`${what} is not listed by ${clear}`)
}

function unanswered(name: string, error: string): CheckResult {
  const domain = `Check that the domain is registered and its name servers answer: dig +trace ${name}`
  const resolver = `Check that the name servers of MAYFLY_DNS (if empty: /etc/resolv.conf) answer, and correct it: dig ${name}`
  const fix = /REFUSED|TIMEOUT|ECONN/.test(error) ? `${resolver}\n${domain}` : domain
  return failure(`DNS did not answer for ${name} (${error})`, fix)
}

export function sameName(one: string, other: string): boolean {
  return one.replace(/\.$/, '').toLowerCase() === other.replace(/\.$/, '').toLowerCase()
}
