import { domainToASCII } from 'node:url'
import type { DKIMResult, DNSResolver } from 'mailauth'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { dmarc } from 'mailauth/lib/dmarc/index.js'
import { spf } from 'mailauth/lib/spf/index.js'
import {
  CHECK_RESULTS,
  type CheckResult,
  type SenderCheckInput,
  type SenderChecks,
} from '../core/message.ts'
import type { RunCheck } from './checker.ts'
import type { CheckMessage, CheckRequest } from './job.ts'

/** Whether the domain of MAIL FROM, or of HELO for `<>`, lets this client send for it. */
export async function checkSpf(
  { clientIp, helo, mailFrom }: Extract<CheckRequest, { kind: 'spf' }>,
  resolver: DNSResolver,
): Promise<Extract<CheckMessage, { kind: 'spf' }>> {
  // RFC 7208 7.3: the name of who checks is nobody's business.
  const { status, domain } = await spf({
    ip: clientIp,
    helo,
    sender: mailFrom,
    mta: 'unknown',
    resolver,
  })
  const result = CHECK_RESULTS.find((one) => one === status.result) ?? 'permerror'
  return { kind: 'spf', result, domain }
}

/** Keys that are looked up for one mail. Signatures by further ones count as if there were no key. */
export const MAX_KEYS = 20
// More than anybody reads; a mail with more has no author.
const MAX_AUTHORS = 100

/** The best of several: one that holds, else one that may yet, else the plainest fault. */
const PRECEDENCE: readonly CheckResult[] = [
  'pass',
  'temperror',
  'fail',
  'permerror',
  'neutral',
  'none',
]

/** What a mail says once (RFC 5322 3.6). A signature covers the last, and readers show the first. */
const SINGLE_FIELDS: readonly string[] = [
  'from',
  'reply-to',
  'to',
  'subject',
  'date',
  'content-type',
  'content-transfer-encoding',
]

/** Whether a signature of the mail holds: any, for whichever domain. DMARC asks whether it is the author's. */
export async function checkDkim(
  { raw, receivedAt }: Extract<CheckRequest, { kind: 'dkim' }>,
  resolver: DNSResolver,
): Promise<Extract<CheckMessage, { kind: 'dkim' }>> {
  const { results, headerFrom, fromFields, headers } = await dkimVerify(Buffer.from(raw), {
    resolver,
    // A signature that ran out since has held when it mattered.
    curTime: receivedAt,
    // RFC 8301.
    rejectRsaSha1: true,
  })
  const keys = headers?.parsed.map(({ key }) => key) ?? []
  const hasDuplicates = SINGLE_FIELDS.some((key) => keys.indexOf(key) !== keys.lastIndexOf(key))
  const judged = results.map((one) => ({
    domain: one.signingDomain ?? [],
    result: signatureResult(one, hasDuplicates),
  }))
  const best = PRECEDENCE.find((word) => judged.some(({ result }) => result === word)) ?? 'none'
  // What cannot be read at all is left out of the results, as if it had not been there.
  const signed = keys.includes('dkim-signature')
  return {
    kind: 'dkim',
    result: signed && best === 'none' ? 'neutral' : best,
    domains: [
      ...new Set(judged.flatMap(({ domain, result }) => (result === 'pass' ? domain : []))),
    ],
    authors: headerFrom.length > MAX_AUTHORS ? [] : headerFrom,
    fromFields,
  }
}

function signatureResult(
  { status, bodyHash, bodyHashExpecting }: DKIMResult,
  isTwofold: boolean,
): CheckResult {
  // An l= tag lets anybody add to the body: such a signature says nothing about the mail as it is read.
  if (status.result === 'pass') return status.underSized || isTwofold ? 'neutral' : 'pass'
  // RFC 8601 2.7.1; mailauth calls it neutral unless it is strict in everything.
  if (bodyHash !== undefined && bodyHash !== bodyHashExpecting) return 'fail'
  // `policy`, for weak keys and algorithms, is not among our words.
  return PRECEDENCE.find((result) => result === status.result) ?? 'neutral'
}

const DMARC_RESULTS: readonly CheckResult[] = ['pass', 'fail', 'none', 'temperror', 'permerror']

/** Whether the domain of the author stands behind the mail, as its owner has asked receivers to judge. */
export async function checkDmarc(
  { authors, fromFields, shown, passed }: Extract<CheckRequest, { kind: 'dmarc' }>,
  resolver: DNSResolver,
): Promise<Extract<CheckMessage, { kind: 'dmarc' }>> {
  const found = await dmarc({
    headerFrom: authors,
    fromFields,
    spfDomains: passed.spf,
    dkimDomains: passed.dkim.map((domain) => ({ domain })),
    resolver,
  })
  // No author, authors of several domains, or several From headers: nobody can vouch for whom a reader sees.
  if (!found) return { kind: 'dmarc', result: 'fail' }
  // Two readers of one header may see two authors. What passed for one says nothing about the other.
  if (domainOf(shown) !== normalizedDomain(found.status.header?.from))
    return { kind: 'dmarc', result: 'fail' }
  return {
    kind: 'dmarc',
    result: DMARC_RESULTS.find((one) => one === found.status.result) ?? 'permerror',
  }
}

function domainOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  // An address in brackets is no name.
  return normalizedDomain(domainToASCII(domain) || domain)
}

function normalizedDomain(domain: string | false | undefined): string {
  return (domain || '').toLowerCase().replace(/\.$/, '')
}

/** All three checks of one mail. A check that the mail itself makes impossible is a permerror: asking again would not help. */
export async function runChecks(
  runCheck: RunCheck,
  { clientIp, helo, mailFrom, shown, raw, receivedAt }: SenderCheckInput,
): Promise<SenderChecks> {
  const [spf, dkim] = await Promise.all([
    runCheck<'spf'>({ kind: 'spf', clientIp, helo, mailFrom }),
    runCheck<'dkim'>({ kind: 'dkim', raw, receivedAt }),
  ])
  const results = { spf: spf?.result ?? 'permerror', dkim: dkim?.result ?? 'permerror' }
  // Who the author is, the reader of the signatures knows.
  if (!dkim) return { ...results, dmarc: 'permerror' }
  const { authors, fromFields } = dkim
  const passed = { spf: spf?.result === 'pass' ? [spf.domain] : [], dkim: dkim.domains }
  const dmarc = await runCheck<'dmarc'>({ kind: 'dmarc', authors, fromFields, shown, passed })
  return { ...results, dmarc: orTemperror(dmarc?.result ?? 'permerror', results) }
}

/** What did not pass may pass once the DNS answers. */
function orTemperror(dmarc: CheckResult, { spf, dkim }: Omit<SenderChecks, 'dmarc'>): CheckResult {
  return dmarc === 'fail' && (spf === 'temperror' || dkim === 'temperror') ? 'temperror' : dmarc
}
