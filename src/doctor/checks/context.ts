import type { MailStore } from '../../mail/store.ts'
import type { PaymentFacts, PostgresFacts } from '../rules/backend-rules.ts'
import type { MxRecord } from '../rules/dns-rules.ts'
import type { DataDirectory } from '../rules/installation-rules.ts'
import type { CheckResult, Lookup } from '../rules/result.ts'
import type { ServedCertificate, TlsaRecord } from '../rules/tls-rules.ts'

/** One check of the installation. Values like this are run by `mayfly doctor` and by whatever else shows them. */
export interface Check {
  name: string
  /** The domain or account it is about; undefined for the installation as a whole. */
  subject?: string
  run(signal: AbortSignal): Promise<CheckResult>
}

/** The settings that checks look at. */
export interface CheckedSettings {
  host: string
  adminToken: string
  rateLimits: boolean
  http: {
    port: number
    baseUrl: string
    trustProxy: readonly string[]
    mtaSts: 'off' | 'testing' | 'enforce'
  }
  smtp: { port: number; hostname: string }
  payments: { provider: PaymentFacts['provider'] }
  /** Accounts that are fetched from. */
  gmailAccounts: readonly { email: string; active: boolean }[]
  mailOut: { url: string; from: string }
  store: string
  redis: string
}

/** Never rejects: an error is part of the answer. */
export interface DnsProbe {
  mx(name: string): Promise<Lookup<MxRecord>>
  a(name: string): Promise<Lookup<string>>
  aaaa(name: string): Promise<Lookup<string>>
  cname(name: string): Promise<Lookup<string>>
  /** Each record as one text. */
  txt(name: string): Promise<Lookup<string>>
  ptr(ip: string): Promise<Lookup<string>>
  tlsa(name: string): Promise<Lookup<TlsaRecord>>
}

export interface SmtpReply {
  code: number
  text: string
}

/** A connection to an SMTP server, after its greeting. */
export interface SmtpProbe {
  greeting: SmtpReply
  /** Without a reply in time, code 0. */
  command(line: string): Promise<SmtpReply>
  /** Sends STARTTLS and completes the handshake, whatever the certificate is. Rejects if the server refuses. */
  startTls(host: string): Promise<ServedCertificate>
  close(): void
}

export async function withProbe<T>(probe: SmtpProbe, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } finally {
    probe.close()
  }
}

export const NOT_RUNNING = 'the service is not running'
/** Whether a reply of Mayfly says that its block list is the reason. */
export const isBlockReply = (text: string) =>
  /blocked by the operator|blocked, send QUIT/.test(text)
export const REMOVE_BLOCK =
  'Remove the entry of the block list that matches this machine or the domain: mayfly block list'

export interface HttpProbeResponse {
  status: number
  body: string
  /** The Date header. */
  date: Date | undefined
}

/** Rejects with the error of the connection; errors of TLS are `TlsError`s. */
export type HttpProbe = (
  url: string,
  options: { headers?: Record<string, string>; signal: AbortSignal },
) => Promise<HttpProbeResponse>

/** The certificate of an HTTPS server cannot be verified. */
export class TlsError extends Error {}

export interface CheckContext {
  settings: CheckedSettings
  /** Active domains that are not examples. */
  domains: readonly string[]
  exampleDomains: readonly string[]
  /** Domains of the settings that the service has not added yet. */
  newDomains: readonly string[]
  now(): Date
  /** Unique text for the subject of a test mail. */
  uniqueId(): string
  dns: DnsProbe
  connectSmtp(address: string, port: number, signal: AbortSignal): Promise<SmtpProbe>
  httpGet: HttpProbe
  /** The ports under which everybody reaches the service: 25 and 443. */
  publicPorts: { smtp: number; https: number }
  /** Addresses of this machine that others may be able to reach. */
  ownAddresses: readonly string[]
  isPrivateIp(ip: string): boolean
  /** Problems of the settings that do not prevent the start, and a summary; undefined if a program passed the settings. */
  settingsReport: { count: number; changed: number; unknown: readonly string[] } | undefined
  dataDirectory(): Promise<DataDirectory>
  /** Whether the system says that its clock is synchronized; undefined if it does not say. */
  clockSynchronized(): Promise<boolean | undefined>
  /** Undefined if there is no store yet, or if it cannot be used. */
  store: Pick<MailStore, 'listMessages' | 'readRaw' | 'deleteMessages' | 'readLedger'> | undefined
  /** Why it cannot be used. */
  storeFault: string | undefined
  /** The number of keys, orders and blocks, and the last backup; undefined on PostgreSQL, which is backed up by other means. */
  backup(): Promise<{ entries: number; at: Date | undefined } | undefined>
  /** Rejects if it cannot be reached. */
  postgres(): Promise<PostgresFacts>
  /** The version. Rejects if it cannot be reached. */
  redis(): Promise<string>
  testAccount(email: string): Promise<{ ok: true } | { ok: false; reason: string }>
  stripe(): Promise<Pick<PaymentFacts, 'isTestMode' | 'endpoints'>>
}
