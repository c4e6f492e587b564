import type { Address } from '../base/address.ts'
import type { Recipient, RecipientRefusal } from '../mail/rules/recipient.ts'
import type { RuleRefusal } from '../shared/address-rules.ts'
import type { Envelope } from '../shared/mail.ts'
import type { DataReader } from './data.ts'
import type { LineReader } from './parser.ts'

export interface SmtpLimits {
  /** Our name in the reply to EHLO. */
  hostname: string
  maxBytes: number
  maxRecipients: number
  maxLineBytes: number
  /** Since the session began or since its last accepted mail. */
  maxCommands: number
  maxRefused: number
  /** Reject mail with a bare CR or LF. Otherwise it is stored unchanged. */
  refuseBareNewlines: boolean
  offerTls: boolean
}

interface Sender {
  path: string
  size: number
  utf8: boolean
}

/** Work that must complete before the session reads on. */
export type Action =
  | { kind: 'mail-from'; sender: string; size: number }
  /** text is the content of the angle brackets; others are the recipients accepted so far. */
  | { kind: 'rcpt-to'; text: string; size: number; others: Recipient[] }
  /** raw is a copy: it does not change as more input arrives. */
  | { kind: 'message'; raw: Uint8Array; recipients: Recipient[]; envelope: Envelope }
  | { kind: 'tls' }
  | { kind: 'close'; reason: CloseReason }

export type CloseReason =
  | 'quit'
  | 'not_smtp'
  | 'too_many_refused'
  | 'too_many_commands'
  | 'too_big'
  | 'behind_starttls'

export interface State {
  limits: SmtpLimits
  clientIp: string
  /** The operator blocks this client: every command but QUIT gets 503. */
  blocked: boolean
  lines: LineReader
  /** Undefined until EHLO or HELO. */
  helo: string | undefined
  extended: boolean
  tls: string | undefined
  sender: Sender | undefined
  recipients: Map<Address, Recipient>
  /** Set while DATA is being received. */
  incoming: DataReader | undefined
  /** Bytes of mail received in this session, including rejected mail. */
  dataBytes: number
  commands: number
  refused: number
  replies: string
  action: Action | undefined
  chunk: Buffer
  /** Read position in chunk. */
  at: number
}

export const EMPTY = Buffer.alloc(0)

export function initialState(limits: SmtpLimits, clientIp: string, blocked: boolean): State {
  return {
    limits,
    clientIp,
    blocked,
    lines: { partial: '', skipping: false, line: undefined },
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

export function closeSession(state: State, text: string, reason: CloseReason): void {
  state.replies += text
  state.action = { kind: 'close', reason }
}

/** Only 5xx counts against the session: 4xx is not the client's fault. */
export function queueReply(state: State, reply: string): void {
  if (reply.startsWith('5')) state.refused += 1
  if (state.refused > state.limits.maxRefused) {
    closeSession(state, REPLIES.tooManyRefused, 'too_many_refused')
  } else state.replies += reply
}

// Reply texts are constants: client input is never echoed.

function replyLine(code: number, status: string, text: string): string {
  return `${code} ${status} ${text}\r\n`
}

export function greeting(hostname: string): string {
  return `220 ${hostname} ESMTP ready\r\n`
}

export const REPLIES = {
  ok: replyLine(250, '2.0.0', 'OK'),
  senderOk: replyLine(250, '2.1.0', 'OK'),
  recipientOk: replyLine(250, '2.1.5', 'OK'),
  accepted: replyLine(250, '2.0.0', 'Message accepted'),
  closing: replyLine(221, '2.0.0', 'Bye'),
  notVerified: replyLine(252, '2.0.0', 'Cannot verify, but will accept mail and try to deliver it'),
  startData: '354 End data with <CRLF>.<CRLF>\r\n',
  startTls: replyLine(220, '2.0.0', 'Ready to start TLS'),

  shuttingDown: replyLine(421, '4.3.2', 'Service shutting down, try again later'),
  internalErrorClosing: replyLine(421, '4.3.0', 'Internal error, closing connection'),
  tooSlow: replyLine(421, '4.4.2', 'Timeout, closing connection'),
  sessionTimeout: replyLine(421, '4.4.2', 'Session too long, closing connection'),
  tooManyConnections: replyLine(421, '4.7.0', 'Too many connections from your address'),
  tooManyCommands: replyLine(421, '4.7.0', 'Too many commands in one session'),
  tooManyRefused: replyLine(421, '4.7.0', 'Too many rejected commands'),
  tooManyMails: replyLine(450, '4.7.1', 'Too many messages from your address, try again later'),
  tooMuchData: replyLine(450, '4.7.1', 'Too much data from your address, try again later'),
  storeUnavailable: replyLine(451, '4.3.0', 'Storage unavailable, try again later'),
  internalError: replyLine(451, '4.3.0', 'Internal error, try again later'),
  mailboxFull: replyLine(452, '4.2.2', 'Mailbox full'),
  noSpace: replyLine(452, '4.3.1', 'Insufficient storage, try again later'),
  tooManyRecipients: replyLine(452, '4.5.3', 'Too many recipients'),

  notSmtp: replyLine(500, '5.5.2', 'This is an SMTP port'),
  unknownCommand: replyLine(500, '5.5.2', 'Command not recognized'),
  lineTooLong: replyLine(500, '5.5.2', 'Line too long'),
  badLine: replyLine(500, '5.5.2', 'Lines must be printable UTF-8 and end with CRLF'),
  badArgument: replyLine(501, '5.5.4', 'Invalid argument'),
  badParameter: replyLine(501, '5.5.4', 'Invalid parameter'),
  badSender: replyLine(501, '5.1.7', 'Invalid sender address'),
  badPath: replyLine(501, '5.1.3', 'Invalid recipient address'),
  notImplemented: replyLine(502, '5.5.1', 'Command not implemented'),
  blockedSession: replyLine(503, '5.7.1', 'Your address is blocked, send QUIT'),
  ehloRequired: replyLine(503, '5.5.1', 'Send EHLO first'),
  mailRequired: replyLine(503, '5.5.1', 'Send MAIL first'),
  nestedMail: replyLine(503, '5.5.1', 'Sender already specified'),
  tlsActive: replyLine(503, '5.5.1', 'TLS already active'),
  inputAfterStartTls: replyLine(503, '5.5.1', 'Pipelining after STARTTLS not allowed'),
  unknownRecipient: replyLine(550, '5.1.1', 'No such mailbox'),
  limitReached: replyLine(550, '5.2.1', 'Mailbox accepts no more messages'),
  bareNewline: replyLine(550, '5.6.11', 'Bare CR or LF not allowed'),
  needsUtf8: replyLine(550, '5.6.7', 'Address requires SMTPUTF8'),
  relayDenied: replyLine(550, '5.7.1', 'Relaying denied'),
  senderNotAllowed: replyLine(550, '5.7.1', 'Sender not allowed by the recipient'),
  senderBlocked: replyLine(550, '5.7.1', 'Sender or client blocked by the operator'),
  tooBig: replyLine(552, '5.3.4', 'Message too big'),
  clientBlocked: replyLine(554, '5.7.1', 'Your address is blocked by the operator'),
  noRecipient: replyLine(554, '5.5.1', 'No valid recipients'),
  unknownParameter: replyLine(555, '5.5.4', 'Parameter not recognized'),
} as const

export type ActionResult =
  | { kind: 'mail-from'; outcome: SenderOutcome }
  | { kind: 'rcpt-to'; outcome: RecipientOutcome }
  | { kind: 'message'; outcome: MailOutcome }
  /** tls names the version and cipher. */
  | { kind: 'tls'; tls: string }

export type SenderOutcome =
  | 'accepted'
  | 'blocked'
  | 'too_many_mails'
  | 'too_much_data'
  | ServerError
export type RecipientOutcome = Recipient | { refused: RecipientRefusal | ServerError }
export type MailOutcome =
  | 'stored'
  | 'no_recipients'
  | 'full'
  | 'blocked'
  | RuleRefusal
  | ServerError
/** Not the sender's fault: storage is full or unavailable, or an internal error. Always 4xx, so the sender retries. */
export type ServerError = 'no_space' | 'unavailable' | 'fault'

export function applyResult(state: State, result: ActionResult): void {
  if (state.action?.kind !== result.kind) {
    const pending = state.action?.kind ?? 'nothing'
    throw new Error(`a result for ${result.kind} while ${pending} is pending`)
  }
  state.action = undefined
  if (result.kind === 'mail-from') {
    if (result.outcome !== 'accepted') resetTransaction(state)
    queueReply(state, SENDER_REPLY[result.outcome])
  } else if (result.kind === 'message') {
    resetTransaction(state)
    // Sessions that deliver mail may be long.
    if (result.outcome === 'stored') state.commands = 0
    queueReply(state, MAIL_REPLY[result.outcome])
  } else if (result.kind === 'rcpt-to') applyRecipientResult(state, result.outcome)
  else applyTls(state, result.tls)
}

const SERVER_ERROR_REPLY = {
  no_space: REPLIES.noSpace,
  unavailable: REPLIES.storeUnavailable,
  fault: REPLIES.internalError,
} as const satisfies Record<ServerError, string>

const SENDER_REPLY = {
  ...SERVER_ERROR_REPLY,
  accepted: REPLIES.senderOk,
  blocked: REPLIES.senderBlocked,
  too_many_mails: REPLIES.tooManyMails,
  too_much_data: REPLIES.tooMuchData,
} as const satisfies Record<SenderOutcome, string>

const RULE_REPLY = {
  limit_reached: REPLIES.limitReached,
  sender_not_allowed: REPLIES.senderNotAllowed,
} as const satisfies Record<RuleRefusal, string>

const RECIPIENT_REPLY = {
  ...SERVER_ERROR_REPLY,
  ...RULE_REPLY,
  unknown: REPLIES.unknownRecipient,
  foreign: REPLIES.relayDenied,
  full: REPLIES.mailboxFull,
} as const satisfies Record<RecipientRefusal | ServerError, string>

const MAIL_REPLY = {
  ...SERVER_ERROR_REPLY,
  ...RULE_REPLY,
  stored: REPLIES.accepted,
  no_recipients: REPLIES.unknownRecipient,
  full: REPLIES.mailboxFull,
  blocked: REPLIES.senderBlocked,
} as const satisfies Record<MailOutcome, string>

function applyRecipientResult(state: State, outcome: RecipientOutcome): void {
  if ('address' in outcome) {
    // A repeated recipient gets one copy.
    state.recipients.set(outcome.address, outcome)
    queueReply(state, REPLIES.recipientOk)
  } else queueReply(state, RECIPIENT_REPLY[outcome.refused])
}

/** RFC 3207 4.2: everything learned before the handshake is discarded. */
function applyTls(state: State, tls: string): void {
  resetTransaction(state)
  state.helo = undefined
  state.extended = false
  state.tls = tls
}
