import { isIP } from 'node:net'
import { parseAddress } from '../../base/address.ts'
import { type CheckResult, failure, ok, skipped, warning } from '../../base/check-result.ts'
import type { Fault } from '../../base/fault.ts'
import { ipRangeMatcher, isIpRange, isPrivateIp } from '../../base/ip.ts'
import {
  dmarcRecord,
  isLastTerm,
  isRelated,
  needsPermission,
  permissionRecord,
  spfRecord,
} from './dns-records.ts'
import { tagsOf } from './dns-rules.ts'
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

/** What to do if the server of MAYFLY_MAIL_OUT does not accept us. */
export function mailOutFix(fault: string): string {
  if (/EAUTH|\b535\b|credentials|authentication/i.test(fault))
    return 'Correct user name and password in MAYFLY_MAIL_OUT (smtp://USER:PASSWORD@host:587; write @, / and : of a password as %40, %2F and %3A)'
  if (/certificate|CERT_|altname/i.test(fault))
    return 'Use the host name of its certificate in MAYFLY_MAIL_OUT, or install a valid certificate there'
  if (/ENOTFOUND|EAI_AGAIN|EDNS/.test(fault)) return 'Correct the host name in MAYFLY_MAIL_OUT'
  return 'Correct host and port in MAYFLY_MAIL_OUT (587 for smtp://, 465 for smtps://), start that server, or allow outgoing connections in the firewall'
}

/** `addresses` are those that mail leaves from; empty if unknown. */
type Sending = Sender & { addresses: readonly string[] }

const SPF_TERM =
  /^(?:[+?~-]?(?:all|include:\S+|a(?:[:/]\S+)?|mx(?:[:/]\S+)?|ptr(?::\S+)?|ip4:\S+|ip6:\S+|exists:\S+)|[a-z][\w.-]*=\S*)$/i
const IP_TERM = /^[+?~-]?ip[46]:(\S+)$/i

const isValidTerm = (term: string) =>
  SPF_TERM.test(term) &&
  !/^(?:redirect|exp)=$/i.test(term) &&
  !/^[+?~-]?(?:ip4:.*:|ip6:[^:]*$)/i.test(term) &&
  isIpRange(IP_TERM.exec(term)?.[1] ?? '::')

export const isSpf = (text: string) => /^v=spf1(?: |$)/i.test(text)

export const spfTerms = (text: string) =>
  text
    .split(/ +/)
    .slice(1)
    .filter((term) => term !== '')

/** What the evaluation of a record takes, with the records it refers to. */
export interface SpfTree {
  lookups: number
  /** A name that refers to itself. */
  loop: string | undefined
  /** A name that is referred to, and has no record. */
  missing: string | undefined
}

const MAX_LOOKUPS = 10
const NO_TREE: SpfTree = { lookups: 0, loop: undefined, missing: undefined }

/** A domain that only receives should say so, which keeps others from sending in its name. */
export function evaluateSpf(
  domain: string,
  txt: Lookup<string>,
  sending: Sending | undefined,
  tree: SpfTree = NO_TREE,
): CheckResult {
  if ('error' in txt) return skipped(`DNS did not answer (${txt.error})`)
  const found = txt.records.filter(isSpf)
  const terms = found.flatMap(spfTerms)
  const publish = sending ? senderSpf(terms.filter(isValidTerm), sending) : spfRecord(domain)
  const replace = `Replace it: ${publish}`
  const [record = ''] = found
  if (record === '') return warning('no SPF record: anyone can send in its name', publish)
  const join = sending ? 'Merge them' : 'Keep only one'
  if (found.length > 1)
    return failure(`${found.length} SPF records: receivers reject that`, `${join}: ${publish}`)
  const bad = terms.find((term) => !isValidTerm(term))
  if (bad !== undefined) return failure(`${record}: ${bad} is not valid`, replace)
  const stumbled = treeFault(tree)
  if (stumbled)
    return failure(
      `${record}: ${stumbled.seen}, so receivers ignore it`,
      sending ? stumbled.fix : replace,
    )
  const last = terms.find(isLastTerm) ?? ''
  if (sending ? /^\+?all$/i.test(last) : !/^-all$|^redirect=/i.test(last)) {
    return warning(`${record}: does not prevent others from sending`, replace)
  }
  return sending ? evaluateSending(record, terms, sending, replace) : ok(record)
}

/** Whether the record lets the server send receipts. */
function evaluateSending(
  record: string,
  terms: readonly string[],
  sending: Sending,
  replace: string,
): CheckResult {
  // What follows `all` is ignored; a redirect counts wherever it stands.
  const end = terms.findIndex((term) => /^[+?~-]?all$/i.test(term))
  const heard = end < 0 ? terms : terms.slice(0, end + 1)
  if (heard.some((term) => mayAllow(term, sending))) return ok(record)
  const seen = `${record}: receipts by ${sending.server} (MAYFLY_MAIL_FROM) are rejected`
  // It may send from an address that is not known here.
  return heard.every(isLastTerm) ? failure(seen, replace) : warning(seen, replace)
}

function treeFault({ lookups, loop, missing }: SpfTree): Fault | undefined {
  if (loop !== undefined)
    return { seen: `${loop} refers to itself`, fix: `Remove the include: or redirect= of ${loop}` }
  if (missing !== undefined) {
    const fix = `Remove or correct the include: or redirect= of ${missing}`
    return { seen: `${missing} has no SPF record`, fix }
  }
  if (lookups <= MAX_LOOKUPS) return undefined
  return {
    seen: `more than ${MAX_LOOKUPS} DNS look-ups (${lookups})`,
    fix: 'Remove include:, a and mx of servers that no longer send, or replace them by ip4: and ip6: with their addresses',
  }
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

interface DmarcFacts {
  /** Records of the parent domains, nearest first: their policy applies if the domain has none. */
  parents: readonly Lookup<string>[]
  sends: boolean
  /** By the domain of each report address, what it says about reports of this domain. */
  permissions?: ReadonlyMap<string, Lookup<string>>
}

/** Domains of other owners that a record sends reports to. */
export function reportReceivers(domain: string, txt: Lookup<string>): string[] {
  const [record = ''] = dmarcOf(txt)
  const receivers = reportAddresses(record).flatMap((uri) => REPORT.exec(uri)?.[1] ?? [])
  return receivers.map((one) => one.toLowerCase()).filter((one) => needsPermission(domain, one))
}

const reportAddresses = (record: string) =>
  (tagsOf(record).get('rua') ?? '')
    .split(',')
    .map((uri) => uri.trim())
    .filter((uri) => uri !== '')

/** RFC 7489 6.2: with an optional size. */
const REPORT = /^mailto:[^@!]+@([^@!]+)(?:!\d+[kmgt]?)?$/i

export function evaluateDmarc(
  domain: string,
  txt: Lookup<string>,
  { parents, sends, permissions = new Map() }: DmarcFacts,
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
  return (inherited ? undefined : tagWarning(domain, record, { sends, permissions })) ?? ok(seen)
}

/** What else a record of the domain itself says: about subdomains, and where reports go. */
function tagWarning(
  domain: string,
  record: string,
  { sends, permissions }: { sends: boolean; permissions: ReadonlyMap<string, Lookup<string>> },
): CheckResult | undefined {
  const tags = tagsOf(record)
  const policy = tags.get('p')?.toLowerCase() === 'none' ? 'none' : 'reject'
  const withReports = dmarcRecord(domain, `postmaster@${domain}`, policy)
  const open = `${record}: does not reject mail forged in the name of subdomains (sp=)`
  if (!sends && (tags.get('sp')?.toLowerCase() ?? policy) !== 'reject')
    return warning(open, `Replace it: ${dmarcRecord(domain)}`)
  const bad = reportAddresses(record).find((uri) => !REPORT.test(uri))
  if (bad !== undefined)
    return warning(`${record}: rua=${bad} is not a mailto: address`, `Replace it: ${withReports}`)
  const receiver = [...permissions].find(([, answer]) => lacksPermission(answer))?.[0]
  if (receiver === undefined) return undefined
  const permit = `In the zone of ${receiver}: ${permissionRecord(domain, receiver)}\nOr use an address of ${domain}: ${withReports}`
  return warning(`${record}: ${receiver} does not agree to receive reports`, permit)
}

const lacksPermission = (answer: Lookup<string>) =>
  'records' in answer && dmarcOf(answer).length === 0

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
