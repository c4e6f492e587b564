import type { Address } from '../base/address.ts'
import type { Awaitable } from '../base/awaitable.ts'
import type { Log } from '../base/log/log.ts'
import type { MailLog } from '../mail/log/mail-log.ts'
import type { Recipient, RefusedRecipient } from '../mail/rules/recipient.ts'
import type { RuleRefusal } from '../shared/address-rules.ts'
import type { Envelope } from '../shared/mail.ts'
import type { TlsContexts } from '../tls/contexts.ts'
import type { SmtpLimits } from './state.ts'

export type ReceiveResult =
  /** For these recipients: others may have ended since RCPT. */
  | { outcome: 'stored'; recipients: readonly { address: Address }[] }
  | { outcome: 'no_recipients' | 'full' | 'blocked' | RuleRefusal }

/** Services and limits that the SMTP server uses. */
export interface SmtpDeps {
  /**
   * text is the content of the angle brackets of RCPT TO, possibly a bare `postmaster`; size is the declared size or 0,
   * others are the recipients accepted so far.
   */
  acceptRecipient(
    text: string,
    offer: { size: number; others: readonly Recipient[]; ip: string },
  ): Awaitable<Recipient | RefusedRecipient>
  /** Resolves once the mail is on disk. Rejections: StoreUnavailable is 451, Problem('overloaded') 452, anything else is logged and 451. */
  receiveMail(mail: {
    recipients: Recipient[]
    envelope: Envelope
    raw: Uint8Array
  }): Promise<ReceiveResult>
  /** Whether the operator blocks this client, or this sender of MAIL FROM. */
  isBlocked(facts: { ip: string; sender?: string }): boolean
  /** Why no mail can be stored right now; undefined if it can. */
  storageFault(): Awaitable<{ kind: 'full' | 'unavailable'; reason: string } | undefined>
  /** Counts a connection of this IP and returns its release function; undefined if there are too many. */
  acquireConnection(ip: string): (() => void) | undefined
  /** Counts a mail of this IP; false if it exceeds the limit per minute. */
  allowMail(ip: string): Awaitable<boolean>
  /** False if this IP has exceeded its bytes per hour. */
  allowTraffic(ip: string): Awaitable<boolean>
  /** Counts bytes of mail received from this IP, including rejected mail. */
  countTraffic(ip: string, bytes: number): void
  /** Reserves memory for mail in progress; false if none is left. */
  reserveBytes(bytes: number): boolean
  releaseBytes(bytes: number): void
  mailLog: Pick<MailLog, 'add' | 'newId'>
  log: Log
  now(): Date
}

export interface SmtpOptions {
  port: number
  /** Our name in the greeting. */
  hostname: string
  /** Default: all addresses. */
  host?: string
  /** Lets several threads listen on one port. */
  reusePort?: boolean
  maxBytes?: number
  /** Reject mail with a bare CR or LF. Otherwise it is stored unchanged. */
  refuseBareNewlines?: boolean
  /** Addresses or CIDR ranges of load balancers. A PROXY header is required from them and not accepted from others. */
  proxyFrom?: readonly string[]
  /** PEM files of the operator's certificate chain and key. If both are empty, a self-signed certificate is used. */
  tlsCert?: string
  tlsKey?: string
  /** Certificates by host name, unless tlsCert is given. */
  contexts?: Pick<TlsContexts, 'contextFor' | 'expiresAt'> | undefined
  /** Directory of the self-signed certificate. Without it, tlsCert and contexts, STARTTLS is not offered. */
  folder?: string
  limits?: Partial<Omit<SmtpLimits, 'hostname' | 'offerTls' | 'maxBytes' | 'refuseBareNewlines'>>
  timeouts?: Partial<SmtpTimeouts>
  /** Monotonic milliseconds. */
  clock?: () => number
}

export const DEFAULT_LIMITS = {
  maxBytes: 10 * 1024 * 1024,
  maxRecipients: 100,
  maxLineBytes: 1_000,
  maxCommands: 1_000,
  maxRefused: 20,
  refuseBareNewlines: false,
} as const satisfies Omit<SmtpLimits, 'hostname' | 'offerTls'>

export interface SmtpTimeouts {
  sessionMs: number
  /** Without a complete command or a byte of mail. */
  idleMs: number
  /** For the PROXY header and for the TLS handshake. */
  handshakeMs: number
  /** Minimum rate of DATA, averaged over each rateWindowMs. */
  minBytesPerSecond: number
  rateWindowMs: number
  /** How long to wait for the client to close after our last reply. */
  lingerMs: number
  /** How long mail in progress may take to complete during shutdown. */
  closeMs: number
  checkMs: number
}

export const DEFAULT_TIMEOUTS: SmtpTimeouts = {
  sessionMs: 600_000,
  idleMs: 300_000,
  handshakeMs: 30_000,
  minBytesPerSecond: 500,
  rateWindowMs: 20_000,
  lingerMs: 3_000,
  closeMs: 10_000,
  checkMs: 1_000,
}
