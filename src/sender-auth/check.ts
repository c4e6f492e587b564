import { domainToASCII } from 'node:url'
import type { DKIMResult, DKIMVerifyResult, DNSResolver } from 'mailauth'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { dmarc } from 'mailauth/lib/dmarc/index.js'
import { spf } from 'mailauth/lib/spf/index.js'
import { unquoted } from '../base/address.ts'
import { CHECK_RESULTS, type CheckResult } from '../shared/mail.ts'
import { resolverFromAnswers } from './dns.ts'
import { isCheckable, isWellFormed } from './header.ts'
import type { CheckJob, CheckRequest, CheckResponse } from './job.ts'

/** Runs in a child process: the mail may break a check. */
export async function checkSender(job: CheckJob): Promise<CheckResponse> {
  const known = resolverFromAnswers(job.answers, job.kind === 'dkim' ? MAX_KEYS : undefined)
  const response = await check(job, known.resolver)
  const queries = known.missing()
  return queries.length > 0 ? { kind: 'unknown', queries } : response
}

function check(job: CheckJob, resolver: DNSResolver): Promise<CheckResponse> {
  if (job.kind === 'spf') return checkSpf(job, resolver)
  return job.kind === 'dkim' ? checkDkim(job, resolver) : checkDmarc(job, resolver)
}

/** Whether the domain of MAIL FROM, or of HELO for `<>`, authorizes this client. */
async function checkSpf(
  { clientIp, helo, mailFrom }: Extract<CheckRequest, { kind: 'spf' }>,
  resolver: DNSResolver,
): Promise<CheckResponse> {
  // RFC 7208 7.3: `unknown` instead of disclosing our host name.
  const client = { ip: clientIp, helo, sender: mailFrom, mta: 'unknown' }
  const { status, domain } = await spf({ ...client, resolver })
  const result = CHECK_RESULTS.find((one) => one === status.result) ?? 'permerror'
  return { kind: 'spf', result, domain }
}

/** DKIM keys looked up for one mail. Further keys count as missing. */
const MAX_KEYS = 20
// A mail with more has no author.
const MAX_AUTHORS = 100

/** The first of several results in this order counts. */
const PRECEDENCE = ['pass', 'temperror', 'fail', 'permerror', 'neutral', 'none'] as const

/** Fields that occur once (RFC 5322 3.6). A signature covers the last one, but mail clients show the first. */
const SINGLE_FIELDS = 'from reply-to to subject date content-type content-transfer-encoding'.split(
  ' ',
)

/** Whether any signature is valid, for any domain. DMARC checks whether it is that of the author. */
async function checkDkim(
  { raw, receivedAt }: Extract<CheckRequest, { kind: 'dkim' }>,
  resolver: DNSResolver,
): Promise<CheckResponse> {
  const verified = await verify(Buffer.from(raw), receivedAt, resolver)
  if (!verified) return { kind: 'uncheckable' }
  const { results, headerFrom, fromFields, headers } = verified
  const fields = headers?.parsed ?? []
  const keys = fields.map(({ key }) => key)
  const isAmbiguous =
    SINGLE_FIELDS.some((key) => keys.indexOf(key) !== keys.lastIndexOf(key)) ||
    fields.some(({ key, line }) => SINGLE_FIELDS.includes(key) && !isWellFormed(line))
  const signatures = results.map((one) => ({
    domain: one.signingDomain ?? [],
    result: signatureResult(one, isAmbiguous),
  }))
  const best = PRECEDENCE.find((word) => signatures.some(({ result }) => result === word)) ?? 'none'
  const passed = signatures.filter(({ result }) => result === 'pass')
  // mailauth omits unparsable signatures from the results.
  const signed = keys.includes('dkim-signature')
  return {
    kind: 'dkim',
    result: signed && best === 'none' ? 'neutral' : best,
    domains: [...new Set(passed.flatMap(({ domain }) => domain))],
    authors: headerFrom.length > MAX_AUTHORS ? [] : headerFrom,
    fromFields,
  }
}

/** Undefined if the mail cannot be checked. */
async function verify(
  raw: Buffer,
  receivedAt: Date,
  resolver: DNSResolver,
): Promise<DKIMVerifyResult | undefined> {
  if (!isCheckable(raw)) return undefined
  // A signature that has expired since was valid on arrival. RFC 8301: no rsa-sha1.
  const options = { resolver, curTime: receivedAt, rejectRsaSha1: true }
  try {
    return await dkimVerify(raw, options)
  } catch (error) {
    // Of a signature without a canonicalization of the header (`c=/simple`).
    if (error instanceof Error && 'canonicalization' in error) return undefined
    throw error
  }
}

/** isAmbiguous: the header that we show may differ from what was signed. */
function signatureResult(
  { status, bodyHash, bodyHashExpecting }: DKIMResult,
  isAmbiguous: boolean,
): CheckResult {
  // With an l= tag anybody can append to the body, so the signature does not cover the mail as shown.
  if (status.result === 'pass') return status.underSized || isAmbiguous ? 'neutral' : 'pass'
  // RFC 8601 2.7.1: fail. mailauth returns neutral unless everything is strict.
  if (bodyHash !== undefined && bodyHash !== bodyHashExpecting) return 'fail'
  // We have no `policy` (weak keys and algorithms).
  return PRECEDENCE.find((result) => result === status.result) ?? 'neutral'
}

const DMARC_RESULTS: readonly CheckResult[] = ['pass', 'fail', 'none', 'temperror', 'permerror']

/** Whether the mail passes the DMARC policy of the author's domain. */
async function checkDmarc(
  { authors, fromFields, shown, passed }: Extract<CheckRequest, { kind: 'dmarc' }>,
  resolver: DNSResolver,
): Promise<CheckResponse> {
  const found = await dmarc({
    headerFrom: authors,
    fromFields,
    spfDomains: passed.spf,
    dkimDomains: passed.dkim.map((domain) => ({ domain })),
    resolver,
  })
  // No author, authors of several domains, or several From fields: it is unclear whom a reader sees. Also, mailauth and our
  // parser may see different authors in one field, or ours none: then the sender of the envelope is shown, which nobody signed.
  const isAuthor = authors.some((author) => localPartOf(author) === localPartOf(shown))
  if (!found || !isAuthor || domainOf(shown) !== normalizedDomain(found.status.header?.from))
    return { kind: 'dmarc', result: 'fail' }
  const result = DMARC_RESULTS.find((one) => one === found.status.result) ?? 'permerror'
  return { kind: 'dmarc', result }
}

function domainOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  // Empty for an address literal.
  return normalizedDomain(domainToASCII(domain) || domain)
}

/** mailauth leaves blanks and a route in an address, and removes quotes that need not be there. */
function localPartOf(address: string): string {
  const path = address.replace(/\s+/g, '').replace(/^@[^:"]*:/, '')
  return unquoted(path.slice(0, Math.max(0, path.lastIndexOf('@')))).toLowerCase()
}

function normalizedDomain(domain: string | false | undefined): string {
  return (domain || '').toLowerCase().replace(/\.$/, '')
}
