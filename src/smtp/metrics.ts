import { counter, histogram } from '../base/metrics.ts'
import { RULE_REFUSALS } from '../shared/address-rules.ts'
import type { MailOutcome, ServerError } from './state.ts'

/** Mail is deferred: MayflyMailDeferred counts each of them. */
const SERVER_ERRORS = ['no_space', 'unavailable', 'fault'] as const satisfies ServerError[]
const MAIL_OUTCOMES = [
  'stored',
  'no_recipients',
  'full',
  'blocked',
  ...RULE_REFUSALS,
  ...SERVER_ERRORS,
] as const satisfies MailOutcome[]

export const connectionCounts = counter(
  'mayfly_smtp_connections_total',
  'SMTP connections, by result of accepting them',
  'start',
  ['greeted', 'blocked', 'too_many_connections', 'bad_proxy_header', 'shutting_down', 'fault'],
)

export const mails = counter(
  'mayfly_smtp_mails_total',
  'Mails received up to the final dot, by outcome',
  'outcome',
  MAIL_OUTCOMES,
)

export const mailBytes = counter(
  'mayfly_smtp_mail_bytes_total',
  'Bytes of mails received up to the final dot, by outcome',
  'outcome',
  MAIL_OUTCOMES,
)

export const refusedSenders = counter(
  'mayfly_smtp_refused_senders_total',
  'Rejected MAIL commands, by reason',
  'reason',
  ['blocked', 'too_many_mails', 'too_much_data', ...SERVER_ERRORS],
)

export const refusedRecipients = counter(
  'mayfly_smtp_refused_recipients_total',
  'Rejected RCPT commands, by reason',
  'reason',
  ['unknown', 'foreign', 'full', 'restored', ...RULE_REFUSALS, ...SERVER_ERRORS],
)

export const closedSessions = counter<string>(
  'mayfly_smtp_cut_sessions_total',
  'SMTP sessions closed by the server, by reason',
  'reason',
  ['fault'],
)

/** Durations of the commands that use the store; the others are replied to at once. */
export const commandSeconds = histogram(
  'mayfly_smtp_command_seconds',
  'Time until the reply to MAIL, RCPT, or the final dot of DATA',
  'command',
)
