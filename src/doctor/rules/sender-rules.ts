import { isIP } from 'node:net'
import { parseAddress } from '../../base/address.ts'
import { ipRangeMatcher, isIpRange } from '../../base/ip.ts'
import { dmarcRecord, isRelated, spfRecord } from './dns-records.ts'
import { isPrivateIp, sameName, tagsOf } from './dns-rules.ts'
import {
  type CheckResult,
  failure,
  type Lookup,
  ok,
  recordsOf,
  skipped,
  warning,
} from './result.ts'

// SPF and DMARC: who may send in the name of a domain.

/** The domain that receipts come from; undefined if none are sent. */
export function senderDomain({ url, from }: { url: string; from: string }): string | undefined {
  if (url === '') return undefined
  const [, bare = from] = /<([^<>]+)>\s*$/.exec(from) ?? []
  return parseAddress(bare.trim())?.split('@')[1]
}

/** The host of a URL such as `smtp://user@out.example.net:587`. */
export const mailServer = (url: string) => new URL(url).hostname.replace(/^\[|\]$/g, '')

/** How a domain sends; undefined for a domain that only receives. */
export interface Sending {
  /** The server that takes its mail. */
  server: string
  /** Addresses that mail leaves from, as far as known; undefined if DNS did not answer. */
  addresses: readonly string[] | undefined
  /** The addresses that `a` and `mx` stand for: those of the domain and of its MX hosts; undefined likewise. */
  a: readonly string[] | undefined
  mx: readonly string[] | undefined
  /** The host name of this machine. */
  host: string
}

/** A server at the same machine or network sends from our address; the one of a provider, from addresses that only the provider knows. */
export function spfMechanism(
  domain: string,
  { server, host }: Pick<Sending, 'server' | 'host'>,
): string {
  if (isLocal(server)) return `a:${host}`
  if (isIP(server) !== 0) return `${isIP(server) === 4 ? 'ip4' : 'ip6'}:${server}`
  return isRelated(domain, server) ? `a:${server}` : OF_PROVIDER
}

const OF_PROVIDER = 'include:SPF_OF_PROVIDER'

export const isLocal = (server: string) => server === 'localhost' || isPrivateIp(server)

const SPF_TERM =
  /^(?:[+?~-]?(?:all|include:\S+|a(?:[:/]\S+)?|mx(?:[:/]\S+)?|ptr(?::\S+)?|ip4:\S+|ip6:\S+|exists:\S+)|[a-z][\w.-]*=\S*)$/i

function isValidTerm(term: string): boolean {
  const [, range] = /^[+?~-]?ip[46]:(\S+)$/i.exec(term) ?? []
  return SPF_TERM.test(term) && (range === undefined || isIpRange(range))
}

/** A domain that only receives should say so, which keeps others from sending in its name. */
export function evaluateSpf(
  domain: string,
  txt: Lookup<string>,
  sending: Sending | undefined,
): CheckResult {
  if ('error' in txt) return skipped(`DNS did not answer (${txt.error})`)
  const found = txt.records.filter((text) => /^v=spf1(?: |$)/i.test(text))
  const [record = '', second] = found
  const all = found.flatMap((text) => text.split(/ +/).slice(1)).filter((term) => term !== '')
  const valid = all.filter(isValidTerm)
  const publish = sending ? senderSpf(domain, valid, sending) : spfRecord(domain)
  if (record === '') return warning('no SPF record: anyone can send in its name', publish)
  if (second !== undefined) {
    return failure(
      `${found.length} SPF records: receivers treat that as an error`,
      `${sending ? 'Merge them' : 'Keep only one'}: ${publish}`,
    )
  }
  const replace = `Replace it: ${publish}`
  const bad = all.find((term) => !isValidTerm(term))
  if (bad !== undefined) return failure(`${record}: ${bad} is not valid`, replace)
  if (sending && /^v=spf1 +-all *$/i.test(record)) {
    return failure(`${record}: receipts from this domain (MAYFLY_MAIL_FROM) are rejected`, replace)
  }
  const last = all.find(isLastTerm) ?? ''
  if (sending ? /^\+?all$/i.test(last) : !/^-all$|^redirect=/i.test(last)) {
    return warning(`${record}: does not prevent others from sending`, replace)
  }
  if (sending && all.every((term) => allows(domain, term, sending) === false)) {
    return warning(
      `${record}: does not name ${sending.server}, so receipts (MAYFLY_MAIL_FROM) may be rejected`,
      replace,
    )
  }
  return ok(record)
}

const isLastTerm = (term: string) => /^(?:[+?~-]?all|redirect=.*)$/i.test(term)

/** With the terms that the domain has, so that its other senders are not cut off. Ours comes first, because the first match decides. */
function senderSpf(domain: string, terms: readonly string[], sending: Sending): string {
  const others = [...new Set(terms.filter((term) => !isLastTerm(term)))]
  const ours = others.some((term) => allows(domain, term, sending) === true)
    ? []
    : [spfMechanism(domain, sending)]
  const last = terms.filter((term) => isLastTerm(term) && !/^\+?all$/i.test(term)).slice(0, 1)
  const record = spfRecord(domain, [...ours, ...others, ...last])
  return ours.includes(OF_PROVIDER)
    ? `${record}\nwith the name that the operator of ${sending.server} documents for SPF`
    : record
}

/** Whether the term lets the server send; undefined if that depends on records that are unknown. */
function allows(domain: string, term: string, sending: Sending): boolean | undefined {
  const { server, host, addresses } = sending
  const [, range = ''] = /^\+?ip[46]:(\S+)$/i.exec(term) ?? []
  if (isIpRange(range)) return addresses?.some(ipRangeMatcher([range]))
  if (/^(?:\+?(?:include|exists):|\+?ptr\b|redirect=)/i.test(term)) return undefined
  const [, name = '', target = domain, four = 32, six = 128] = A_OR_MX.exec(term) ?? []
  const isHost = name.toLowerCase() === 'a'
  if (isHost && sameName(target, isLocal(server) ? host : server)) return true
  if (name === '' || !sameName(target, domain)) return false
  const named = isHost ? sending.a : sending.mx
  const ranges = named?.map((ip) => `${ip}/${isIP(ip) === 4 ? four : six}`).filter(isIpRange)
  return ranges && addresses?.some(ipRangeMatcher(ranges))
}

const A_OR_MX = /^\+?(a|mx)(?::([^/]+))?(?:\/(\d+))?(?:\/\/(\d+))?$/i

/** `parents` are the records of the parent domains, nearest first: their policy applies if the domain has none. */
export function evaluateDmarc(
  domain: string,
  txt: Lookup<string>,
  { parents, sending }: { parents: readonly Lookup<string>[]; sending: boolean },
): CheckResult {
  const lookups = [txt, ...parents]
  const decisive = lookups.find((lookup) => 'error' in lookup || dmarcOf(lookup).length > 0)
  if (decisive && 'error' in decisive) return skipped(`DNS did not answer (${decisive.error})`)
  const found = decisive ? dmarcOf(decisive) : []
  const inherited = decisive !== txt
  const publish = sending ? senderDmarc(domain) : dmarcRecord(domain)
  if (found.length > 1 && !inherited) {
    return failure(
      `${found.length} DMARC records: receivers ignore all of them`,
      `Keep only one: ${publish}`,
    )
  }
  const [record] = found
  if (record === undefined) return warning('no DMARC record', publish)
  const policy = policyOf(record, inherited)
  if (!/^(none|quarantine|reject)$/.test(policy)) {
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

function policyOf(record: string, inherited: boolean): string {
  const tags = tagsOf(record)
  // With pct=0 it applies to no mail.
  const own = tags.get('pct') === '0' && tags.has('p') ? 'none' : (tags.get('p') ?? '')
  return (inherited ? (tags.get('sp') ?? own) : own).toLowerCase()
}

/** Without DKIM, receipts that are forwarded would be rejected. */
const senderDmarc = (domain: string) =>
  `${dmarcRecord(domain, `postmaster@${domain}`, 'none')}\nReceipts are sent from this domain: sign them with DKIM at your mail server before you set p=reject`

export function dmarcOf(txt: Lookup<string>): string[] {
  return recordsOf(txt).filter((text) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text))
}
