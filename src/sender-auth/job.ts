import type { CheckResult } from '../core/message.ts'

/**
 * What the parent asks of a child: a plain function of what the mail says and of what the DNS has answered so far. The
 * child has no network. Where it needs to know more it says so, and is asked again with the answers.
 */
export type CheckJob = { answers: DnsAnswers } & CheckRequest

export type CheckRequest =
  | { kind: 'spf'; clientIp: string; helo: string; mailFrom: string }
  | { kind: 'dkim'; raw: Uint8Array; receivedAt: Date }
  | ({ kind: 'dmarc'; shown: string; passed: PassedDomains } & Authors)

/** What a child says: once that it is ready, then one answer per job. */
export type CheckMessage =
  | { kind: 'ready' }
  | { kind: 'unknown'; questions: DnsQuery[] }
  /** `domain`: whose policy it is. */
  | { kind: 'spf'; result: CheckResult; domain: string }
  /** `domains`: of the signatures that hold. */
  | ({ kind: 'dkim'; result: CheckResult; domains: string[] } & Authors)
  | { kind: 'dmarc'; result: CheckResult }
  /** By a fault of ours; `place` says which and where. */
  | { kind: 'failed'; place: string }

/** Who the From headers name. */
interface Authors {
  authors: string[]
  fromFields: number
}

/** Domains that a check has found to stand behind the mail. */
interface PassedDomains {
  spf: string[]
  dkim: string[]
}

export const RECORD_TYPES = ['TXT', 'A', 'AAAA', 'MX', 'PTR', 'CNAME'] as const

export interface DnsQuery {
  name: string
  type: (typeof RECORD_TYPES)[number]
}

export type DnsAnswer = { records: DnsRecords } | { fault: string }

export type DnsRecords = string[] | string[][] | { priority: number; exchange: string }[]

/** By the key of the question. */
export type DnsAnswers = ReadonlyMap<string, DnsAnswer>

export function queryKey({ name, type }: DnsQuery): string {
  return `${type} ${name.toLowerCase()}`
}
