import { isIP } from 'node:net'
import { ipRangeMatcher, isLoopback, PRIVATE_RANGES } from '../ip.ts'
import { addressRecord, dmarcRecord, mxRecord, ptrRecord, spfRecord } from './dns-records.ts'
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
  const first = sorted[0]
  if (first && first.priority < ours.priority) {
    return warning(
      `${seen}: senders try ${first.exchange} first`,
      `If ${first.exchange} is not one of your nodes, remove its record. Otherwise ignore this.`,
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

/** `own` are the addresses of this machine that others could reach; none behind NAT. */
export function evaluateAddresses(
  host: string,
  { a, aaaa, cname }: HostLookups,
  { own, isPrivate }: { own: readonly string[]; isPrivate(ip: string): boolean },
): CheckResult {
  const error = [a, aaaa].find((lookup) => 'error' in lookup)
  if (error && 'error' in error) return unanswered(host, error.error)
  const found = [...recordsOf(a), ...recordsOf(aaaa)]
  const publish = addressRecord(host, own[0] ?? 'ADDRESS')
  if (found.length === 0) return failure(`${host} has no address`, publish)
  const seen = found.join(', ')
  const hidden = found.find(isPrivate)
  if (hidden !== undefined) {
    // Hardly anyone publishes 127.0.1.1, but installers write it to /etc/hosts.
    const resolver = isLoopback(hidden)
      ? 'If DNS has another address, your resolver answers from /etc/hosts: set MAYFLY_DNS to one that does not, such as 9.9.9.9. Otherwise replace'
      : 'Replace'
    return failure(
      `${seen}: ${hidden} cannot be reached from the Internet`,
      `${resolver} the record: ${publish}`,
    )
  }
  const [alias] = recordsOf(cname)
  if (alias !== undefined) {
    return warning(
      `${host} is an alias of ${alias}: an MX record must name a host with addresses of its own`,
      `Replace the CNAME record: ${found.map((ip) => addressRecord(host, ip)).join('\n')}`,
    )
  }
  const foreign = own.length === 0 ? undefined : found.find((ip) => !own.includes(ip))
  if (foreign !== undefined) {
    return warning(
      `${seen}: ${foreign} is not an address of this machine (${own.join(', ')})`,
      `If it is neither another node nor your load balancer, replace the record: ${publish}`,
    )
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

/** The server through which a domain sends; undefined for a domain that only receives. */
export interface Sending {
  server: string
}

const SPF_TERM =
  /^(?:[+?~-]?(?:all|include:\S+|a(?:[:/]\S+)?|mx(?:[:/]\S+)?|ptr(?::\S+)?|ip4:\S+|ip6:\S+|exists:\S+)|[a-z][\w.-]*=\S*)$/i

/** A domain that only receives should say so, which keeps others from sending in its name. */
export function evaluateSpf(
  domain: string,
  txt: Lookup<string>,
  sending: Sending | undefined,
): CheckResult {
  if ('error' in txt) return skipped(`DNS did not answer (${txt.error})`)
  const found = txt.records.filter((text) => /^v=spf1(?: |$)/i.test(text))
  const publish = spfRecord(domain, sending?.server)
  const [record = '', second] = found
  if (record === '') return warning('no SPF record: anyone can send in its name', publish)
  if (second !== undefined) {
    return failure(
      `${found.length} SPF records: receivers treat that as an error`,
      `Keep only one: ${publish}`,
    )
  }
  const terms = record.split(/ +/).slice(1)
  const bad = terms.find((term) => term !== '' && !SPF_TERM.test(term))
  if (bad !== undefined) return failure(`${record}: ${bad} is not valid`, `Replace it: ${publish}`)
  if (sending && /^v=spf1 +-all *$/i.test(record)) {
    return failure(
      `${record}: receipts from this domain (MAYFLY_MAIL_FROM) are rejected`,
      `Replace it: ${publish}`,
    )
  }
  const last = terms.find((term) => /^(?:[+?~-]?all|redirect=.*)$/i.test(term)) ?? ''
  if (sending ? /^\+?all$/i.test(last) : !/^-all$|^redirect=/i.test(last)) {
    return warning(`${record}: does not prevent others from sending`, `Replace it: ${publish}`)
  }
  return ok(record)
}

/** `parents` are the records of the parent domains, nearest first: their policy applies if the domain has none. */
export function evaluateDmarc(
  domain: string,
  txt: Lookup<string>,
  { parents, sending }: { parents: readonly Lookup<string>[]; sending: Sending | undefined },
): CheckResult {
  if ('error' in txt) return skipped(`DNS did not answer (${txt.error})`)
  const own = dmarcOf(txt)
  const publish = dmarcRecord(domain)
  if (own.length > 1) {
    return failure(
      `${own.length} DMARC records: receivers ignore all of them`,
      `Keep only one: ${publish}`,
    )
  }
  const inherited = own.length === 0
  const record = own[0] ?? parents.flatMap(dmarcOf)[0]
  if (record === undefined) return warning('no DMARC record', publish)
  const tags = tagsOf(record)
  const policy = (inherited ? (tags.get('sp') ?? tags.get('p')) : tags.get('p'))?.toLowerCase()
  if (policy === undefined || !/^(none|quarantine|reject)$/.test(policy)) {
    return failure(`${record}: no valid policy (p=)`, `Replace it: ${publish}`)
  }
  const seen = inherited ? `${record} (of the parent domain)` : record
  if (!sending && policy !== 'reject') {
    return warning(
      `${seen}: does not reject forged mail`,
      inherited ? publish : `Replace it: ${publish}`,
    )
  }
  return ok(seen)
}

function dmarcOf(txt: Lookup<string>): string[] {
  return recordsOf(txt).filter((text) => /^v=DMARC1\s*(?:;|$)/i.test(text))
}

/** The tags of a record such as `v=DMARC1; p=reject`. */
export function tagsOf(record: string): Map<string, string> {
  const pairs = record.split(';').map((part) => part.split('='))
  return new Map(
    pairs.map(([name = '', ...value]) => [name.trim().toLowerCase(), value.join('=').trim()]),
  )
}

/** Return codes of a block list: 127.0.0.x is a listing, 127.255.255.x refuses the query. */
export function evaluateListing(
  what: string,
  lists: ReadonlyMap<string, Lookup<string>>,
): CheckResult {
  const answers = [...lists].map(([list, lookup]) => ({ list, codes: recordsOf(lookup) }))
  const listed = answers.filter(({ codes }) => codes.some((code) => /^127\.0\./.test(code)))
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
