import type { Log } from '../core/log.ts'
import type { Envelope } from '../core/message.ts'
import type { Recipient } from '../core/recipient.ts'
import type { SmtpLimits } from './state.ts'

/** What the door asks of the house. */
export interface SmtpDeps {
  /**
   * text stood between the angle brackets of RCPT TO, and may be `postmaster` alone; size is the declared one or 0, others
   * are the mail's recipients so far, ip is the client's.
   */
  acceptRecipient(
    text: string,
    offer: { size: number; others: readonly Recipient[]; ip: string },
  ): Promise<Recipient | { refused: 'unknown' | 'foreign' | 'full' }>
  /** Resolves when it is on disk. StoreAway is 451, another Problem('overloaded') 452; anything else that is thrown is 451 and logged. */
  receiveMail(mail: {
    recipients: Recipient[]
    envelope: Envelope
    raw: Uint8Array
  }): Promise<'kept' | 'nobody' | 'full'>
  /** Why no mail can be kept right now. */
  obstacle(): Promise<{ kind: 'full' | 'away'; reason: string } | undefined>
  /** Counts one more connection of this IP; the answer uncounts it. Undefined when there are too many. */
  acquireConnection(ip: string): (() => void) | undefined
  /** Counts one more mail of this IP; false when there were too many this minute. */
  takeMail(ip: string): Promise<boolean>
  /** False when this IP has sent too many bytes of mail within the hour. */
  hasTraffic(ip: string): Promise<boolean>
  /** Counts bytes of mail that came from this IP, whether or not the mail is kept. */
  countTraffic(ip: string, bytes: number): void
  /** Counts bytes of mail in flight; false when there is no room for them. */
  reserveBytes(bytes: number): boolean
  /** Gives back what was reserved. */
  releaseBytes(bytes: number): void
  log: Log
  now(): Date
}

export interface SmtpOptions {
  port: number
  /** Our name in the greeting. */
  hostname: string
  /** Default: all addresses. */
  host?: string
  /** Several threads listen on one port. */
  reusePort?: boolean
  /** Of the largest mail taken. */
  maxBytes?: number
  /** Refuse a mail in which a CR or LF stands alone; else it is kept as it came. */
  refuseBareNewlines?: boolean
  /** Peers whose PROXY header is required: addresses or CIDR ranges. From others it is not understood. */
  proxyFrom?: readonly string[]
  /** The operator's certificate chain and key (PEM files); both empty: one is made for this installation. */
  tlsCert?: string
  tlsKey?: string
  /** Where the installation's own certificate lives. Without it and without the operator's: no STARTTLS. */
  folder?: string
  limits?: Partial<Omit<SmtpLimits, 'hostname' | 'offerTls' | 'maxBytes' | 'refuseBareNewlines'>>
  timeouts?: Partial<SmtpTimeouts>
  /** Milliseconds that never step back. */
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

/** All in milliseconds but the rate. */
export interface SmtpTimeouts {
  /** A whole session, whatever it does. */
  sessionMs: number
  /** Without a finished command or a byte of mail. */
  idleMs: number
  /** The PROXY header and the TLS handshake each. */
  handshakeMs: number
  /** DATA must bring at least so many bytes a second, over each stretch of rateWindowMs. */
  minBytesPerSecond: number
  rateWindowMs: number
  /** How long we wait for the other side to close once we have said our last word. */
  lingerMs: number
  /** How long mails in flight may take to finish when we are asked to stop. */
  closeMs: number
  /** How often all of these are looked at. */
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
