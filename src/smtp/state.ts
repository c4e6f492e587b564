import type { Address } from '../core/address.ts'
import type { Envelope } from '../core/message.ts'
import type { Recipient } from '../core/recipient.ts'
import type { DataReader } from './data.ts'
import { type LineReader, lineReader } from './parser.ts'

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
export type Action =
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
  action: Action | undefined
  chunk: Buffer
  /** How far of chunk has been read. */
  at: number
}

export const EMPTY = Buffer.alloc(0)

export function initialState(limits: SmtpLimits, clientIp: string): State {
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
    action: undefined,
    chunk: EMPTY,
    at: 0,
  }
}

export function resetTransaction(state: State): void {
  state.sender = undefined
  state.recipients.clear()
  state.incoming = undefined
}

export function appendReply(state: State, text: string): void {
  state.replies += text
}

export function closeSession(state: State, text: string, reason: CloseReason): void {
  appendReply(state, text)
  state.action = { kind: 'close', reason }
}

/** 5xx counts against the session; 4xx is not the sender's doing. */
export function queueReply(state: State, replyLine: string): void {
  if (replyLine.startsWith('5')) state.refused += 1
  if (state.refused > state.limits.maxRefused) {
    closeSession(state, REPLIES.tooManyRefused, 'too_many_refused')
  } else appendReply(state, replyLine)
}

// Every text we say is our own: nothing a client sent is ever said back to it.

/** One reply line, ready to write. */
function reply(code: number, status: string, text: string): string {
  return `${code} ${status} ${text}\r\n`
}

export function greeting(hostname: string): string {
  return `220 ${hostname} ESMTP ready\r\n`
}

export const REPLIES = {
  ok: reply(250, '2.0.0', 'OK'),
  senderOk: reply(250, '2.1.0', 'OK'),
  recipientOk: reply(250, '2.1.5', 'OK'),
  accepted: reply(250, '2.0.0', 'kept'),
  closing: reply(221, '2.0.0', 'bye'),
  startData: '354 end with CRLF.CRLF\r\n',
  startTls: reply(220, '2.0.0', 'go ahead'),

  shuttingDown: reply(421, '4.3.2', 'going down, try again soon'),
  internalErrorClosing: reply(421, '4.3.0', 'a fault of ours, closing, try again later'),
  tooSlow: reply(421, '4.4.2', 'too slow, closing'),
  sessionTimeout: reply(421, '4.4.2', 'session took too long, closing'),
  tooManyConnections: reply(421, '4.7.0', 'too many connections from your address'),
  tooManyCommands: reply(421, '4.7.0', 'too many commands in one session'),
  tooManyRefused: reply(421, '4.7.0', 'too many refused commands'),
  tooManyMails: reply(450, '4.7.1', 'too many mails from your address, try again in a minute'),
  tooMuchData: reply(450, '4.7.1', 'too much mail data from your address, try again later'),
  storeUnavailable: reply(451, '4.3.0', 'mail cannot be kept right now, try again soon'),
  internalError: reply(451, '4.3.0', 'a fault of ours, try again later'),
  mailboxFull: reply(452, '4.2.2', 'mailbox full'),
  noSpace: reply(452, '4.3.1', 'no room for mail right now, try again later'),
  tooManyRecipients: reply(452, '4.5.3', 'too many recipients, send the rest in another mail'),

  notSmtp: reply(500, '5.5.2', 'this is an SMTP port'),
  unknownCommand: reply(500, '5.5.2', 'unknown command'),
  lineTooLong: reply(500, '5.5.2', 'line too long'),
  badLine: reply(500, '5.5.2', 'lines are printable UTF-8 and end with CRLF'),
  badArgument: reply(501, '5.5.4', 'bad argument'),
  badParameter: reply(501, '5.5.4', 'bad parameter'),
  badSender: reply(501, '5.1.7', 'bad sender address'),
  badPath: reply(501, '5.1.3', 'bad recipient address'),
  notImplemented: reply(502, '5.5.1', 'not offered here'),
  ehloRequired: reply(503, '5.5.1', 'say EHLO first'),
  mailRequired: reply(503, '5.5.1', 'say MAIL first'),
  nestedMail: reply(503, '5.5.1', 'one sender per mail'),
  tlsActive: reply(503, '5.5.1', 'TLS is on already'),
  inputAfterStartTls: reply(503, '5.5.1', 'nothing may follow STARTTLS before the handshake'),
  unknownRecipient: reply(550, '5.1.1', 'nobody here has that address'),
  bareNewline: reply(550, '5.6.11', 'a CR or LF stands alone'),
  needsUtf8: reply(550, '5.6.7', 'this address needs SMTPUTF8'),
  relayDenied: reply(550, '5.7.1', 'we do not relay'),
  tooBig: reply(552, '5.3.4', 'mail too big'),
  noRecipient: reply(554, '5.5.1', 'no valid recipient'),
  unknownParameter: reply(555, '5.5.4', 'parameter not offered here'),
} as const

/** How a deed went. A fault of ours is always 451, so the sender keeps the mail and tries again. */
export type ActionResult =
  | { kind: 'sender'; outcome: SenderOutcome }
  | { kind: 'recipient'; outcome: RecipientOutcome }
  | { kind: 'mail'; outcome: MailOutcome }
  /** tls names the version and cipher. */
  | { kind: 'tls'; tls: string }

export type SenderOutcome = 'welcome' | 'too_many' | 'too_much' | ServerError
export type RecipientOutcome = Recipient | { refused: RecipientRefusal }
type RecipientRefusal = 'unknown' | 'foreign' | 'full' | ServerError
export type MailOutcome = 'kept' | 'nobody' | 'full' | ServerError
/** Of ours: there is no room, nobody is there who could keep it, or we have made a mistake. */
export type ServerError = 'no_space' | 'away' | 'fault'

export function applyResult(state: State, result: ActionResult): void {
  if (state.action?.kind !== result.kind) {
    throw new Error(
      `a result for ${result.kind} while ${state.action?.kind ?? 'nothing'} is pending`,
    )
  }
  state.action = undefined
  if (result.kind === 'sender') applySenderResult(state, result.outcome)
  else if (result.kind === 'recipient') applyRecipientResult(state, result.outcome)
  else if (result.kind === 'mail') applyMailResult(state, result.outcome)
  else applyTls(state, result.tls)
}

const SERVER_ERROR_REPLY = {
  no_space: REPLIES.noSpace,
  away: REPLIES.storeUnavailable,
  fault: REPLIES.internalError,
} as const satisfies Record<ServerError, string>

const SENDER_REPLY = {
  ...SERVER_ERROR_REPLY,
  welcome: REPLIES.senderOk,
  too_many: REPLIES.tooManyMails,
  too_much: REPLIES.tooMuchData,
} as const satisfies Record<SenderOutcome, string>

const RECIPIENT_REPLY = {
  ...SERVER_ERROR_REPLY,
  unknown: REPLIES.unknownRecipient,
  foreign: REPLIES.relayDenied,
  full: REPLIES.mailboxFull,
} as const satisfies Record<RecipientRefusal, string>

const MAIL_REPLY = {
  ...SERVER_ERROR_REPLY,
  kept: REPLIES.accepted,
  nobody: REPLIES.unknownRecipient,
  full: REPLIES.mailboxFull,
} as const satisfies Record<MailOutcome, string>

function applySenderResult(state: State, outcome: SenderOutcome): void {
  if (outcome !== 'welcome') resetTransaction(state)
  queueReply(state, SENDER_REPLY[outcome])
}

function applyRecipientResult(state: State, outcome: RecipientOutcome): void {
  if ('address' in outcome) {
    // Named twice, kept once.
    state.recipients.set(outcome.address, outcome)
    queueReply(state, REPLIES.recipientOk)
  } else queueReply(state, RECIPIENT_REPLY[outcome.refused])
}

function applyMailResult(state: State, outcome: MailOutcome): void {
  resetTransaction(state)
  // A sender who brings mail may go on bringing it.
  if (outcome === 'kept') state.commands = 0
  queueReply(state, MAIL_REPLY[outcome])
}

/** RFC 3207: what was said before the handshake was never said. */
function applyTls(state: State, tls: string): void {
  resetTransaction(state)
  state.helo = undefined
  state.extended = false
  state.tls = tls
}
