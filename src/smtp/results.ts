import type { Recipient } from '../core/recipient.ts'
import { answer, forgetMail, REPLIES, type State } from './state.ts'

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
  if (result.kind === 'sender') settleSender(state, result.outcome)
  else if (result.kind === 'recipient') settleRecipient(state, result.outcome)
  else if (result.kind === 'mail') settleMail(state, result.outcome)
  else secure(state, result.tls)
}

const SERVER_ERROR = {
  no_space: REPLIES.noSpace,
  away: REPLIES.storeAway,
  fault: REPLIES.ourFault,
} as const satisfies Record<ServerError, string>

const SENDER = {
  ...SERVER_ERROR,
  welcome: REPLIES.senderOk,
  too_many: REPLIES.tooManyMails,
  too_much: REPLIES.tooMuchData,
} as const satisfies Record<SenderOutcome, string>

const RECIPIENT = {
  ...SERVER_ERROR,
  unknown: REPLIES.unknownRecipient,
  foreign: REPLIES.noRelay,
  full: REPLIES.mailboxFull,
} as const satisfies Record<RecipientRefusal, string>

const MAIL = {
  ...SERVER_ERROR,
  kept: REPLIES.kept,
  nobody: REPLIES.unknownRecipient,
  full: REPLIES.mailboxFull,
} as const satisfies Record<MailOutcome, string>

function settleSender(state: State, outcome: SenderOutcome): void {
  if (outcome !== 'welcome') forgetMail(state)
  answer(state, SENDER[outcome])
}

function settleRecipient(state: State, outcome: RecipientOutcome): void {
  if ('address' in outcome) {
    // Named twice, kept once.
    state.recipients.set(outcome.address, outcome)
    answer(state, REPLIES.recipientOk)
  } else answer(state, RECIPIENT[outcome.refused])
}

function settleMail(state: State, outcome: MailOutcome): void {
  forgetMail(state)
  // A sender who brings mail may go on bringing it.
  if (outcome === 'kept') state.commands = 0
  answer(state, MAIL[outcome])
}

/** RFC 3207: what was said before the handshake was never said. */
function secure(state: State, tls: string): void {
  forgetMail(state)
  state.helo = undefined
  state.extended = false
  state.tls = tls
}
