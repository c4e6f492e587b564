import { Problem, StoreUnavailable, toError } from '../core/problem.ts'
import type { ServerContext } from './connection.ts'
import { mailBytes, mails, refusedRecipients } from './metrics.ts'
import type { SmtpDeps } from './options.ts'
import type {
  Action,
  ActionResult,
  MailOutcome,
  RecipientOutcome,
  SenderOutcome,
  ServerError,
} from './state.ts'

/** Actions that need a service call. STARTTLS and close are handled by the connection. */
export type ServiceAction = Extract<Action, { kind: 'mail-from' | 'rcpt-to' | 'message' }>

type ActionContext = Pick<ServerContext, 'deps' | 'reportOutage'>

/** Never rejects: an unexpected error is logged and becomes 451, a full store becomes 452. */
export function runAction(
  context: ActionContext,
  ip: string,
  action: ServiceAction,
): Promise<ActionResult> {
  if (action.kind === 'mail-from') return checkSender(context, ip, action.size)
  if (action.kind === 'rcpt-to') return checkRecipient(context, ip, action)
  return deliverMail(context, ip, action)
}

export function countMailOutcome(outcome: MailOutcome, bytes: number): void {
  mails.add(outcome)
  mailBytes.add(outcome, bytes)
}

async function checkSender(
  context: ActionContext,
  ip: string,
  size: number,
): Promise<ActionResult> {
  let outcome: SenderOutcome
  try {
    outcome = (await storageFault(context, size)) ?? (await checkRateLimits(context.deps, ip))
  } catch (err) {
    outcome = serverError(context, err, { ip, command: 'MAIL' })
  }
  return { kind: 'mail-from', outcome }
}

async function checkRateLimits(deps: SmtpDeps, ip: string): Promise<SenderOutcome> {
  const [traffic, mail] = await Promise.all([deps.allowTraffic(ip), deps.allowMail(ip)])
  if (!traffic) return 'too_much_data'
  return mail ? 'accepted' : 'too_many_mails'
}

async function storageFault({ deps, reportOutage }: ActionContext, size: number) {
  if (!hasMemoryFor(deps, size)) return 'no_space'
  const error = await deps.storageFault()
  if (error?.kind !== 'unavailable') return error && 'no_space'
  reportOutage(error)
  return 'unavailable'
}

// Checked, not reserved: declaring a size costs the client nothing.
function hasMemoryFor(deps: SmtpDeps, size: number): boolean {
  if (size === 0) return true
  if (!deps.reserveBytes(size)) return false
  deps.releaseBytes(size)
  return true
}

async function checkRecipient(
  context: ActionContext,
  ip: string,
  { text, size, others }: Extract<Action, { kind: 'rcpt-to' }>,
): Promise<ActionResult> {
  let outcome: RecipientOutcome
  try {
    outcome = await context.deps.acceptRecipient(text, { size, others, ip })
    if ('refused' in outcome) refusedRecipients.add(outcome.refused)
  } catch (err) {
    outcome = { refused: serverError(context, err, { ip, command: 'RCPT' }) }
  }
  return { kind: 'rcpt-to', outcome }
}

async function deliverMail(
  context: ActionContext,
  ip: string,
  { raw, recipients, envelope }: Extract<Action, { kind: 'message' }>,
): Promise<ActionResult> {
  const { deps } = context
  // Read before the buffer is transferred to the writer thread.
  const size = raw.length
  let outcome: MailOutcome
  try {
    outcome = await deps.receiveMail({ recipients, envelope, raw })
  } catch (err) {
    outcome = serverError(context, err, { ip, command: 'DATA' })
  }
  countMailOutcome(outcome, size)
  deps.log.debug({ ip, outcome, bytes: size, recipients: recipients.length }, 'message received')
  return { kind: 'message', outcome }
}

/** An unavailable store is logged once per outage, not once per mail. */
function serverError(
  { deps, reportOutage }: ActionContext,
  err: unknown,
  facts: { ip: string; command: string },
): ServerError {
  if (err instanceof StoreUnavailable) {
    reportOutage(err)
    return 'unavailable'
  }
  if (err instanceof Problem && err.code === 'overloaded') return 'no_space'
  deps.log.error({ ...facts, err: toError(err) }, 'internal error, replied 451')
  return 'fault'
}
