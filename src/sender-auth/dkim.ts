import type { DKIMResult, DNSResolver } from 'mailauth'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import type { CheckResult } from '../core/message.ts'
import type { Answer, Part } from './job.ts'

/** Keys that are looked up for one mail. Signatures by further ones count as if there were no key. */
export const MAX_KEYS = 20
// More than anybody reads; a mail with more has no author.
const MAX_AUTHORS = 100

/** The best of several: one that holds, else one that may yet, else the plainest fault. */
const RANK: readonly CheckResult[] = ['pass', 'temperror', 'fail', 'permerror', 'neutral', 'none']

/** What a mail says once (RFC 5322 3.6). A signature covers the last, and readers show the first. */
const ONCE: readonly string[] = [
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
  { raw, receivedAt }: Extract<Part, { kind: 'dkim' }>,
  resolver: DNSResolver,
): Promise<Extract<Answer, { kind: 'dkim' }>> {
  const { results, headerFrom, fromFields, headers } = await dkimVerify(Buffer.from(raw), {
    resolver,
    // A signature that ran out since has held when it mattered.
    curTime: receivedAt,
    // RFC 8301.
    rejectRsaSha1: true,
  })
  const keys = headers?.parsed.map(({ key }) => key) ?? []
  const isTwofold = ONCE.some((key) => keys.indexOf(key) !== keys.lastIndexOf(key))
  const judged = results.map((one) => ({
    domain: one.signingDomain ?? [],
    result: verdict(one, isTwofold),
  }))
  const best = RANK.find((word) => judged.some(({ result }) => result === word)) ?? 'none'
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

function verdict(
  { status, bodyHash, bodyHashExpecting }: DKIMResult,
  isTwofold: boolean,
): CheckResult {
  // An l= tag lets anybody add to the body: such a signature says nothing about the mail as it is read.
  if (status.result === 'pass') return status.underSized || isTwofold ? 'neutral' : 'pass'
  // RFC 8601 2.7.1; mailauth calls it neutral unless it is strict in everything.
  if (bodyHash !== undefined && bodyHash !== bodyHashExpecting) return 'fail'
  // `policy`, for weak keys and algorithms, is not among our words.
  return RANK.find((result) => result === status.result) ?? 'neutral'
}
