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
export type ServiceAction = Extract<Action, { kind: 'sender' | 'recipient' | 'mail' }>
type RecipientAction = Extract<Action, { kind: 'recipient' }>
type MailAction = Extract<Action, { kind: 'mail' }>

type ActionContext = Pick<ServerContext, 'deps' | 'reportOutage'>

/** What goes wrong in the house is ours, is logged, and is said as 451; only where there is no room it is 452. */
export function runAction(
  context: ActionContext,
  ip: string,
  action: ServiceAction,
): Promise<ActionResult> {
  if (action.kind === 'sender') return checkSender(context, ip, action.size)
  return action.kind === 'mail'
    ? deliverMail(context, ip, action)
    : checkRecipient(context, ip, action)
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
  const { deps } = context
  let outcome: SenderOutcome
  try {
    outcome = (await storageError(context, size)) ?? (await checkRateLimits(deps, ip))
  } catch (err) {
    outcome = serverErrorOf(context, ip, { doing: 'MAIL', err })
  }
  return { kind: 'sender', outcome }
}

async function checkRateLimits(deps: SmtpDeps, ip: string): Promise<SenderOutcome> {
  const [hasTraffic, isFewEnough] = await Promise.all([deps.hasTraffic(ip), deps.takeMail(ip)])
  if (!hasTraffic) return 'too_much'
  return isFewEnough ? 'welcome' : 'too_many'
}

async function storageError(
  context: ActionContext,
  size: number,
): Promise<'no_space' | 'away' | undefined> {
  if (!hasMemoryFor(context.deps, size)) return 'no_space'
  const found = await context.deps.obstacle()
  if (found?.kind !== 'away') return found && 'no_space'
  context.reportOutage(found)
  return 'away'
}

// Only asked, not held: a declared size is a promise that costs a sender nothing.
function hasMemoryFor(deps: SmtpDeps, size: number): boolean {
  if (size === 0) return true
  if (!deps.reserveBytes(size)) return false
  deps.releaseBytes(size)
  return true
}

async function checkRecipient(
  context: ActionContext,
  ip: string,
  action: RecipientAction,
): Promise<ActionResult> {
  let outcome: RecipientOutcome
  try {
    outcome = await context.deps.acceptRecipient(action.text, {
      size: action.size,
      others: action.others,
      ip,
    })
    if ('refused' in outcome) refusedRecipients.add(outcome.refused)
  } catch (err) {
    outcome = { refused: serverErrorOf(context, ip, { doing: 'RCPT', err }) }
  }
  return { kind: 'recipient', outcome }
}

async function deliverMail(
  context: ActionContext,
  ip: string,
  action: MailAction,
): Promise<ActionResult> {
  const { deps } = context
  const { raw, recipients, envelope } = action
  // Read now: the bytes are handed over to the thread that keeps them.
  const size = raw.length
  let outcome: MailOutcome
  try {
    outcome = await deps.receiveMail({ recipients, envelope, raw })
  } catch (err) {
    outcome = serverErrorOf(context, ip, { doing: 'DATA', err })
  }
  countMailOutcome(outcome, size)
  deps.log.debug({ ip, outcome, bytes: size, recipients: recipients.length }, 'a mail came in')
  return { kind: 'mail', outcome }
}

/** What the sender hears of it. A store that is away is told to the log once, not for each mail. */
function serverErrorOf(
  { deps, reportOutage }: ActionContext,
  ip: string,
  { doing, err }: { doing: string; err: unknown },
): ServerError {
  if (err instanceof StoreUnavailable) {
    reportOutage(err)
    return 'away'
  }
  if (err instanceof Problem && err.code === 'overloaded') return 'no_space'
  deps.log.error({ ip, doing, err: toError(err) }, 'answered 451')
  return 'fault'
}
