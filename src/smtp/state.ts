import type { Address } from '../base/address.ts'
import { freeLarge } from '../base/free-large.ts'
import type { LoggedRecipient } from '../mail/log/rules.ts'
import type { Recipient, RecipientRefusal } from '../mail/rules/recipient.ts'
import type { RuleRefusal } from '../shared/address-rules.ts'
import type { Envelope } from '../shared/mail.ts'
import type { DataReader } from './data.ts'
import type { LineReader } from './parser.ts'
import { acceptedReply, isRefusal, REPLIES } from './replies.ts'

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
  /** raw is a copy: it does not change as more input arrives. size is its length, also once it was transferred. */
  | {
      kind: 'message'
      raw: Uint8Array
      size: number
      recipients: Recipient[]
      envelope: Envelope
    }
  | { kind: 'tls' }
  | { kind: 'close'; reason: CloseReason }

export type CloseReason =
  | 'quit'
  | 'not_smtp'
  | 'too_many_refused'
  | 'too_many_commands'
  | 'too_big'
  | 'behind_starttls'

/** What the mail log has of a reply, besides the state before it. */
export interface About {
  sender?: string
  recipients?: readonly LoggedRecipient[]
  size?: number
  /** Our id of the mail. */
  id?: string | undefined
}

/** Called for each refused command, and each accepted mail. */
export type Report = (reply: string, state: Readonly<State>, about: About) => void

export interface State {
  limits: SmtpLimits
  report: Report
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
  /** The last one; empty if it is unknown. */
  command: string
  replies: string
  action: Action | undefined
  chunk: Buffer
  /** Read position in chunk. */
  at: number
}

export const EMPTY = Buffer.alloc(0)

export function initialState(
  limits: SmtpLimits,
  clientIp: string,
  { blocked, report }: Pick<State, 'blocked' | 'report'>,
): State {
  return {
    limits,
    report,
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
    command: '',
    replies: '',
    action: undefined,
    chunk: EMPTY,
    at: 0,
  }
}

export function resetTransaction(state: State): void {
  state.sender = undefined
  state.recipients.clear()
  endData(state)
}

/** Frees what is buffered. */
export function endData(state: State): void {
  if (state.incoming) freeLarge(state.incoming.buffer)
  state.incoming = undefined
}

export function closeSession(state: State, text: string, reason: CloseReason): void {
  if (isRefusal(text)) state.report(text, state, NOTHING)
  state.replies += text
  state.action = { kind: 'close', reason }
}

const NOTHING: About = {}

/** Only 5xx counts against the session: 4xx is not the client's fault. */
export function queueReply(state: State, reply: string, about: About = NOTHING): void {
  // Of a blocked client, the greeting was reported.
  if (isRefusal(reply) && !state.blocked) state.report(reply, state, about)
  if (reply.startsWith('5')) state.refused += 1
  if (state.refused > state.limits.maxRefused) {
    closeSession(state, REPLIES.tooManyRefused, 'too_many_refused')
  } else state.replies += reply
}

export type ActionResult =
  | { kind: 'mail-from'; outcome: SenderOutcome }
  | { kind: 'rcpt-to'; outcome: RecipientOutcome }
  | { kind: 'message'; outcome: Exclude<MailOutcome, 'stored'> }
  /** recipients: those that have the mail; id: of the mail. */
  | { kind: 'message'; outcome: 'stored'; recipients: Recipient[]; id?: string | undefined }
  /** tls names the version and cipher. */
  | { kind: 'tls'; tls: string }

export type SenderOutcome =
  | 'accepted'
  | 'blocked'
  | 'too_many_mails'
  | 'too_much_data'
  | ServerError
export type RecipientOutcome =
  | Recipient
  | { refused: RecipientRefusal | ServerError; wildcard?: boolean | undefined }
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
  const { action } = state
  if (action?.kind !== result.kind) {
    const pending = action?.kind ?? 'nothing'
    throw new Error(`a result for ${result.kind} while ${pending} is pending`)
  }
  state.action = undefined
  if (result.kind === 'mail-from') {
    queueReply(state, SENDER_REPLY[result.outcome])
    if (result.outcome !== 'accepted') resetTransaction(state)
  } else if (result.kind === 'message') {
    const { size } = action as Extract<Action, { kind: 'message' }>
    applyMailResult(state, result, size)
    resetTransaction(state)
  } else if (result.kind === 'rcpt-to') {
    const { text } = action as Extract<Action, { kind: 'rcpt-to' }>
    applyRecipientResult(state, result.outcome, text)
  } else applyTls(state, result.tls)
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
  restored: REPLIES.domainNotChecked,
} as const satisfies Record<RecipientRefusal | ServerError, string>

const MAIL_REPLY = {
  ...SERVER_ERROR_REPLY,
  ...RULE_REPLY,
  no_recipients: REPLIES.unknownRecipient,
  full: REPLIES.mailboxFull,
  blocked: REPLIES.senderBlocked,
} as const satisfies Record<Exclude<MailOutcome, 'stored'>, string>

function applyMailResult(
  state: State,
  result: Extract<ActionResult, { kind: 'message' }>,
  size: number,
): void {
  if (result.outcome !== 'stored') {
    queueReply(state, MAIL_REPLY[result.outcome], { size })
    return
  }
  const { id, recipients } = result
  const reply = acceptedReply(id)
  state.report(reply, state, { size, id, recipients })
  // Sessions that deliver mail may be long.
  state.commands = 0
  queueReply(state, reply)
}

function applyRecipientResult(state: State, outcome: RecipientOutcome, text: string): void {
  if ('address' in outcome) {
    // A repeated recipient gets one copy.
    state.recipients.set(outcome.address, outcome)
    queueReply(state, REPLIES.recipientOk)
  } else {
    const { refused, wildcard } = outcome
    queueReply(state, RECIPIENT_REPLY[refused], { recipients: [{ address: text, wildcard }] })
  }
}

/** RFC 3207 4.2: everything learned before the handshake is discarded. */
function applyTls(state: State, tls: string): void {
  resetTransaction(state)
  state.helo = undefined
  state.extended = false
  state.tls = tls
}
