import type { CheckResult } from '../shared/mail.ts'

/**
 * A check as a pure function of the mail and of the DNS answers so far. The child has no network: it responds with the
 * queries whose answers it lacks, and gets the job again with their answers.
 */
export type CheckJob = { answers: DnsAnswers } & CheckRequest

export type CheckRequest =
  | { kind: 'spf'; clientIp: string; helo: string; mailFrom: string }
  | { kind: 'dkim'; raw: Uint8Array; receivedAt: Date }
  | ({ kind: 'dmarc'; shown: string; passed: PassedDomains } & Authors)

export type CheckResponse =
  | { kind: 'unknown'; queries: DnsQuery[] }
  /** The mail is malformed, or exceeds limits. */
  | { kind: 'uncheckable' }
  /** domain is the one whose policy was applied. */
  | { kind: 'spf'; result: CheckResult; domain: string }
  /** domains are those of the valid signatures. */
  | ({ kind: 'dkim'; result: CheckResult; domains: string[] } & Authors)
  | { kind: 'dmarc'; result: CheckResult }

/** Addresses in the From fields, and how many such fields there are. */
interface Authors {
  authors: string[]
  fromFields: number
}

/** Domains for which a check passed. */
interface PassedDomains {
  spf: string[]
  dkim: string[]
}

export const RECORD_TYPES = ['TXT', 'A', 'AAAA', 'MX', 'PTR', 'CNAME'] as const

export interface DnsQuery {
  name: string
  type: (typeof RECORD_TYPES)[number]
}

/** error is a code of node:dns, such as ENOTFOUND. */
export type DnsAnswer = { records: DnsRecords } | { error: string }

export type DnsRecords = string[] | string[][] | { priority: number; exchange: string }[]

/** By queryKey. */
export type DnsAnswers = ReadonlyMap<string, DnsAnswer>

export function queryKey({ name, type }: DnsQuery): string {
  return `${type} ${name.toLowerCase()}`
}
