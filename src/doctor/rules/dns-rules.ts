import { isIP } from 'node:net'
import { ipRangeMatcher, isLoopback, PRIVATE_RANGES } from '../../base/ip.ts'
import { addressRecord, mxRecord, ptrRecord } from './dns-records.ts'
import {
  type CheckResult,
  failure,
  type Lookup,
  ok,
  recordsOf,
  skipped,
  warning,
} from './result.ts'

export interface MxRecord {
  exchange: string
  priority: number
}

/** Whether mail for the domain reaches this host. */
export function evaluateMx(domain: string, host: string, mx: Lookup<MxRecord>): CheckResult {
  const publish = mxRecord(domain, host)
  if ('error' in mx) return unanswered(domain, mx.error)
  const sorted = mx.records.toSorted((a, b) => a.priority - b.priority)
  const seen = sorted.map(({ exchange, priority }) => `${priority} ${exchange || '.'}`).join(', ')
  if (sorted.length === 0) return failure('no MX record', publish)
  if (sorted.some(({ exchange }) => exchange === '' || exchange === '.')) {
    return failure(
      `${seen}: a null MX record says that the domain accepts no mail`,
      `Replace it: ${publish}`,
    )
  }
  const literal = sorted.find(({ exchange }) => isIP(exchange) !== 0)
  if (literal) {
    return failure(`${seen}: an MX record needs a host name`, `Replace it: ${publish}`)
  }
  const ours = sorted.find(({ exchange }) => sameName(exchange, host))
  if (!ours) return failure(`${seen}: none of them is ${host}`, publish)
  const other = sorted.find(
    ({ exchange, priority }) => priority <= ours.priority && !sameName(exchange, host),
  )
  if (other) {
    const share = other.priority < ours.priority ? 'first' : 'as often'
    return warning(
      `${seen}: senders try ${other.exchange} ${share}`,
      `If ${other.exchange} is not one of your nodes, remove its record. Otherwise ignore this.`,
    )
  }
  return ok(seen)
}

interface HostLookups {
  a: Lookup<string>
  aaaa: Lookup<string>
  cname: Lookup<string>
}

/** Addresses that exist in private networks only. */
export const isPrivateIp = ipRangeMatcher(PRIVATE_RANGES)

/** `own` are the addresses of this machine that others could reach; behind NAT none, or only those of IPv6. */
export function evaluateAddresses(
  host: string,
  { a, aaaa, cname }: HostLookups,
  { own, isPrivate }: { own: readonly string[]; isPrivate(ip: string): boolean },
): CheckResult {
  const error = [a, aaaa].find((lookup) => 'error' in lookup)
  if (error && 'error' in error) return unanswered(host, error.error)
  const found = [...recordsOf(a), ...recordsOf(aaaa)]
  const four = addressRecord(host, own.find((ip) => isIP(ip) === 4) ?? 'ADDRESS')
  const correct = (ip: string) => {
    const ours = own.find((one) => isIP(one) === isIP(ip))
    if (ours !== undefined) return ['Replace', addressRecord(host, ours)] as const
    // A machine without IPv6 has nothing to replace it with.
    const isExtra = isIP(ip) === 6 && recordsOf(a).length > 0
    return isExtra ? (['Remove', addressRecord(host, ip)] as const) : (['Replace', four] as const)
  }
  if (found.length === 0) return failure(`${host} has no address`, four)
  const seen = found.join(', ')
  const hidden = found.find(isPrivate)
  if (hidden !== undefined) {
    const [verb, record] = correct(hidden)
    // Hardly anyone publishes 127.0.1.1, but installers write it to /etc/hosts.
    const step = isLoopback(hidden)
      ? `If DNS has another address, your resolver answers from /etc/hosts: set MAYFLY_DNS to one that does not, such as 9.9.9.9. Otherwise ${verb.toLowerCase()}`
      : verb
    return failure(
      `${seen}: ${hidden} cannot be reached from the Internet`,
      `${step} the record: ${record}`,
    )
  }
  const [alias] = recordsOf(cname)
  if (alias !== undefined) {
    return warning(
      `${host} is an alias of ${alias}: an MX record must name a host with addresses of its own`,
      `Replace the CNAME record: ${found.map((ip) => addressRecord(host, ip)).join('\n')}`,
    )
  }
  // Without a public IPv4 address, the machine is behind NAT: then at most its IPv6 addresses are known.
  const known = own.some((ip) => isIP(ip) === 4) ? found : recordsOf(aaaa)
  const foreign = own.length === 0 ? undefined : known.find((ip) => !own.includes(ip))
  if (foreign !== undefined) {
    const [verb, record] = correct(foreign)
    return warning(
      `${seen}: ${foreign} is not an address of this machine (${own.join(', ')})`,
      `If it is neither another node nor your load balancer, ${verb.toLowerCase()} the record: ${record}`,
    )
  }
  if (recordsOf(a).length === 0) {
    return warning(`${seen}: no IPv4 address, so most senders cannot deliver`, four)
  }
  return ok(seen)
}

/** Mail servers of others log and sometimes judge by the reverse name, even of hosts that only receive. */
export function evaluatePtr(
  host: string,
  reverse: ReadonlyMap<string, Lookup<string>>,
): CheckResult {
  const wrong = [...reverse].filter(
    ([, names]) => !('error' in names) && !names.records.some((name) => sameName(name, host)),
  )
  if (wrong.length > 0) {
    const seen = wrong.map(([ip, names]) => `${ip}: ${recordsOf(names).join(', ') || 'no name'}`)
    const records = wrong.map(([ip]) => ptrRecord(ip, host))
    return warning(
      `reverse DNS of ${seen.join('; ')}`,
      `Set the reverse name at your hosting provider:\n${records.join('\n')}`,
    )
  }
  const known = [...reverse].filter(([, names]) => !('error' in names))
  if (known.length === 0) return skipped('no reverse name could be looked up')
  return ok(known.map(([ip]) => `${ip} is ${host}`).join(', '))
}

/** The tags of a record such as `v=DMARC1; p=reject`. */
export function tagsOf(record: string): Map<string, string> {
  const pairs = record.split(';').map((part) => part.split('='))
  return new Map(
    pairs.map(([name = '', ...value]) => [name.trim().toLowerCase(), value.join('=').trim()]),
  )
}

const isListing = (code: string) => /^127\.0\./.test(code) && code !== '127.0.0.1'

/** Return codes of a block list: 127.0.0.x is a listing; 127.255.255.x, or 127.0.0.1 of SURBL, refuses the query. */
export function evaluateListing(
  what: string,
  lists: ReadonlyMap<string, Lookup<string>>,
): CheckResult {
  const answers = [...lists].map(([list, lookup]) => ({ list, codes: recordsOf(lookup) }))
  const listed = answers.filter(({ codes }) => codes.some(isListing))
  if (listed.length > 0) {
    const names = listed.map(({ list, codes }) => `${list} (${codes.join(', ')})`)
    return warning(
      `${what} is listed by ${names.join(', ')}`,
      `See why, and request removal, on the site of each list: ${listed.map(({ list }) => list).join(', ')}`,
    )
  }
  const clear = [...lists]
    .filter(([, lookup]) => 'records' in lookup && lookup.records.length === 0)
    .map(([list]) => list)
  if (clear.length === 0) return skipped(`no answer from ${[...lists.keys()].join(', ')}`)
  return ok(`${what} is not listed by ${clear.join(', ')}`)
}

function unanswered(name: string, error: string): CheckResult {
  return failure(
    `DNS did not answer for ${name} (${error})`,
    `Check that the domain is registered and its name servers answer: dig +trace ${name}`,
  )
}

export function sameName(one: string, other: string): boolean {
  return one.replace(/\.$/, '').toLowerCase() === other.replace(/\.$/, '').toLowerCase()
}
