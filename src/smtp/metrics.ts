import { counter, histogram } from '../core/metrics.ts'
import type { ServerError } from './state.ts'

/** Mail is deferred: MayflyMailDeferred counts each of them. */
const SERVER_ERRORS = ['no_space', 'unavailable', 'fault'] as const satisfies ServerError[]

export const connectionCounts = counter(
  'mayfly_smtp_connections_total',
  'SMTP connections, by result of accepting them',
  'start',
  ['greeted', 'fault'],
)

export const mails = counter(
  'mayfly_smtp_mails_total',
  'Mails received up to the final dot, by outcome',
  'outcome',
  ['stored', ...SERVER_ERRORS],
)

export const mailBytes = counter(
  'mayfly_smtp_mail_bytes_total',
  'Bytes of mails received up to the final dot, by outcome',
  'outcome',
  ['stored'],
)

export const refusedSenders = counter(
  'mayfly_smtp_refused_senders_total',
  'Rejected MAIL commands, by reason',
  'reason',
  SERVER_ERRORS,
)

export const refusedRecipients = counter(
  'mayfly_smtp_refused_recipients_total',
  'Rejected RCPT commands, by reason',
  'reason',
  SERVER_ERRORS,
)

export const closedSessions = counter(
  'mayfly_smtp_cut_sessions_total',
  'SMTP sessions closed by the server, by reason',
  'reason',
  ['fault'],
)

/** Of the commands that use the store; the others are replied to at once. */
export const commandSeconds = histogram(
  'mayfly_smtp_command_seconds',
  'Time until the reply to MAIL, RCPT, or the final dot of DATA',
  'command',
)
