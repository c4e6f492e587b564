import { isIP } from 'node:net'
import { parseAddress } from '../../base/address.ts'
import { type CheckResult, failure, ok, skipped, warning } from '../../base/check-result.ts'
import { ipRangeMatcher, isIpRange } from '../../base/ip.ts'
import { dmarcRecord, isLastTerm, isRelated, spfRecord } from './dns-records.ts'
import { isPrivateIp, tagsOf } from './dns-rules.ts'
import { type Lookup, recordsOf } from './result.ts'

// SPF and DMARC: who may send in the name of a domain.

/** The domain that receipts come from. */
export interface Sender {
  domain: string
  /** The server that takes its mail. */
  server: string
  /** The term of SPF that allows it. */
  mechanism: string
}

const OF_PROVIDER = 'include:SPF_OF_PROVIDER'

/** Undefined if no receipts are sent. A server at the same machine or network sends from `host`; the one of a provider, from addresses that only the provider knows. */
export function senderOf(
  { url, from }: { url: string; from: string },
  host: string,
): Sender | undefined {
  if (url === '') return undefined
  const [, bare = from] = /<([^<>]+)>\s*$/.exec(from) ?? []
  const domain = parseAddress(bare.trim())?.split('@')[1]
  const given = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const server = given === 'localhost' || isPrivateIp(given) ? host : given
  if (domain === undefined) return undefined
  if (isIP(server) !== 0) return { domain, server, mechanism: `ip${isIP(server)}:${server}` }
  const isOurs = server === host || isRelated(domain, server)
  return { domain, server, mechanism: isOurs ? `a:${server}` : OF_PROVIDER }
}

/** `addresses` are those that mail leaves from; empty if unknown. */
type Sending = Sender & { addresses: readonly string[] }

const SPF_TERM =
  /^(?:[+?~-]?(?:all|include:\S+|a(?:[:/]\S+)?|mx(?:[:/]\S+)?|ptr(?::\S+)?|ip4:\S+|ip6:\S+|exists:\S+)|[a-z][\w.-]*=\S*)$/i
const IP_TERM = /^[+?~-]?ip[46]:(\S+)$/i

const isValidTerm = (term: string) =>
  SPF_TERM.test(term) && isIpRange(IP_TERM.exec(term)?.[1] ?? '::')

/** A domain that only receives should say so, which keeps others from sending in its name. */
export function evaluateSpf(
  domain: string,
  txt: Lookup<string>,
  sending: Sending | undefined,
): CheckResult {
  if ('error' in txt) return skipped(`DNS did not answer (${txt.error})`)
  const found = txt.records.filter((text) => /^v=spf1(?: |$)/i.test(text))
  const terms = found.flatMap((text) => text.split(/ +/).slice(1)).filter((term) => term !== '')
  const publish = sending ? senderSpf(terms.filter(isValidTerm), sending) : spfRecord(domain)
  const replace = `Replace it: ${publish}`
  const [record = ''] = found
  if (record === '') return warning('no SPF record: anyone can send in its name', publish)
  if (found.length > 1) {
    const join = sending ? 'Merge them' : 'Keep only one'
    return failure(`${found.length} SPF records: receivers reject that`, `${join}: ${publish}`)
  }
  const bad = terms.find((term) => !isValidTerm(term))
  if (bad !== undefined) return failure(`${record}: ${bad} is not valid`, replace)
  const last = terms.find(isLastTerm) ?? ''
  if (sending ? /^\+?all$/i.test(last) : !/^-all$|^redirect=/i.test(last)) {
    return warning(`${record}: does not prevent others from sending`, replace)
  }
  if (sending && !terms.some((term) => mayAllow(term, sending))) {
    // It may send from an address that is not known here.
    const judge = terms.every(isLastTerm) ? failure : warning
    return judge(
      `${record}: receipts by ${sending.server} (MAYFLY_MAIL_FROM) are rejected`,
      replace,
    )
  }
  return ok(record)
}

/** Whether the term may let the server send. What names stand for is not looked up. */
function mayAllow(term: string, { addresses }: Sending): boolean {
  if (/^[?~-]|^\+?all$/i.test(term)) return false
  const range = IP_TERM.exec(term)?.[1]
  return range === undefined || addresses.length === 0 || addresses.some(ipRangeMatcher([range]))
}

/** With the terms that the domain has, so that its other senders are not cut off. Ours comes first, because the first match decides. */
function senderSpf(terms: readonly string[], { domain, server, mechanism }: Sending): string {
  const last = terms.find((term) => isLastTerm(term) && !/^\+?all$/i.test(term)) ?? '-all'
  const all = new Set([mechanism, ...terms.filter((term) => !isLastTerm(term)), last])
  const note = `\nwith the name that the operator of ${server} documents for SPF`
  return `${spfRecord(domain, [...all])}${mechanism === OF_PROVIDER ? note : ''}`
}

/** `parents` are the records of the parent domains, nearest first: their policy applies if the domain has none. */
export function evaluateDmarc(
  domain: string,
  txt: Lookup<string>,
  { parents, sends }: { parents: readonly Lookup<string>[]; sends: boolean },
): CheckResult {
  const decisive = [txt, ...parents].find((one) => 'error' in one || dmarcOf(one).length > 0)
  if (decisive && 'error' in decisive) return skipped(`DNS did not answer (${decisive.error})`)
  const [record, ...others] = decisive ? dmarcOf(decisive) : []
  const publish = sends ? senderDmarc(domain) : dmarcRecord(domain)
  if (record === undefined) return warning('no DMARC record', publish)
  const inherited = decisive !== txt
  if (others.length > 0 && !inherited) {
    return failure('several DMARC records: receivers ignore them', `Keep only one: ${publish}`)
  }
  const policy = policyOf(record, inherited)
  const seen = inherited ? `${record} (of the parent domain)` : record
  const fix = inherited ? publish : `Replace it: ${publish}`
  if (!/^(none|quarantine|reject)$/.test(policy))
    return failure(`${seen}: no valid policy (p=)`, fix)
  if (!sends && policy !== 'reject') return warning(`${seen}: does not reject forged mail`, fix)
  return ok(seen)
}

function policyOf(record: string, inherited: boolean): string {
  const tags = tagsOf(record)
  // With pct=0 it applies to no mail.
  const own = tags.get('pct') === '0' && tags.has('p') ? 'none' : (tags.get('p') ?? '')
  return ((inherited ? tags.get('sp') : undefined) ?? own).toLowerCase()
}

/** Without DKIM, receipts that are forwarded would be rejected. */
const senderDmarc = (domain: string) =>
  `${dmarcRecord(domain, `postmaster@${domain}`, 'none')}\nReceipts are sent from this domain: sign them with DKIM before you set p=reject`

const dmarcOf = (txt: Lookup<string>) =>
  recordsOf(txt).filter((text) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text))
