import type { Address } from '../core/address.ts'
import type { Envelope } from '../core/message.ts'
import type { Recipient } from '../core/recipient.ts'
import type { DataReader } from './data.ts'
import { type LineReader, lineReader } from './line-reader.ts'
import { REPLIES } from './replies.ts'

export interface SmtpLimits {
  /** Our name in the answer to EHLO. */
  hostname: string
  maxBytes: number
  maxRecipients: number
  maxLineBytes: number
  /** Of commands since the session began or since its last kept mail. */
  maxCommands: number
  maxRefused: number
  /** Refuse a mail in which a CR or LF stands alone; else it is kept as it came. */
  refuseBareNewlines: boolean
  offerTls: boolean
}

interface Sender {
  path: string
  size: number
  utf8: boolean
}

/** What the engine asks for before it reads on. */
export type Deed =
  | { kind: 'sender'; size: number }
  /** text is what stood between the angle brackets; others were accepted before. */
  | { kind: 'recipient'; text: string; size: number; others: Recipient[] }
  /** raw has memory of its own: it stays as it is while more bytes come in. */
  | { kind: 'mail'; raw: Uint8Array; recipients: Recipient[]; envelope: Envelope }
  | { kind: 'tls' }
  | { kind: 'close'; reason: CloseReason }

export type CloseReason =
  | 'quit'
  | 'not_smtp'
  | 'too_many_refused'
  | 'too_many_commands'
  | 'too_big'
  | 'behind_starttls'

/** One SMTP conversation. Plain values only: commands change it, the engine reads it. */
export interface State {
  limits: SmtpLimits
  clientIp: string
  lines: LineReader
  /** Undefined until EHLO or HELO. */
  helo: string | undefined
  extended: boolean
  tls: string | undefined
  sender: Sender | undefined
  recipients: Map<Address, Recipient>
  /** Set while a mail's bytes come in. */
  incoming: DataReader | undefined
  /** Bytes of mail that came in over the whole session, also of mail that was not kept. */
  dataBytes: number
  commands: number
  refused: number
  /** Replies not yet handed out. */
  replies: string
  deed: Deed | undefined
  chunk: Buffer
  /** How far of chunk has been read. */
  at: number
}

export const NOTHING = Buffer.alloc(0)

export function freshState(limits: SmtpLimits, clientIp: string): State {
  return {
    limits,
    clientIp,
    lines: lineReader(),
    helo: undefined,
    extended: false,
    tls: undefined,
    sender: undefined,
    recipients: new Map(),
    incoming: undefined,
    dataBytes: 0,
    commands: 0,
    refused: 0,
    replies: '',
    deed: undefined,
    chunk: NOTHING,
    at: 0,
  }
}

export function forgetMail(state: State): void {
  state.sender = undefined
  state.recipients.clear()
  state.incoming = undefined
}

export function say(state: State, text: string): void {
  state.replies += text
}

export function hangUp(state: State, text: string, reason: CloseReason): void {
  say(state, text)
  state.deed = { kind: 'close', reason }
}

/** 5xx counts against the session; 4xx is not the sender's doing. */
export function answer(state: State, reply: string): void {
  if (reply.startsWith('5')) state.refused += 1
  if (state.refused > state.limits.maxRefused) {
    hangUp(state, REPLIES.tooManyRefused, 'too_many_refused')
  } else say(state, reply)
}
