import { type Awaitable, recoverable, whenAvailable } from '../base/awaitable.ts'
import { Problem, StoreUnavailable, toError } from '../base/problem.ts'
import type { ServerContext } from './connection.ts'
import { mailBytes, mails, refusedRecipients, refusedSenders } from './metrics.ts'
import type { ReceiveResult, SmtpDeps } from './options.ts'
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

/** Available at once if nothing has to be waited for. Never rejects: an unexpected error is logged and becomes 451, a full store 452. */
export function runAction(
  context: ActionContext,
  ip: string,
  action: ServiceAction,
): Awaitable<ActionResult> {
  if (action.kind === 'mail-from') return checkSender(context, ip, action)
  if (action.kind === 'rcpt-to') return checkRecipient(context, ip, action)
  return deliverMail(context, ip, action)
}

export function countMailOutcome(outcome: MailOutcome, bytes: number): void {
  mails.add(outcome)
  mailBytes.add(outcome, bytes)
}

function checkSender(
  context: ActionContext,
  ip: string,
  { sender, size }: Extract<Action, { kind: 'mail-from' }>,
): Awaitable<ActionResult> {
  const check = (): Awaitable<SenderOutcome> => {
    if (context.deps.isBlocked({ ip, sender })) return 'blocked'
    return whenAvailable(storageFault(context, size), (fault) => fault ?? checkRates(context, ip))
  }
  const outcome = recoverable(check, (err) => serverError(context, err, { ip, command: 'MAIL' }))
  return whenAvailable(outcome, (known) => {
    if (known !== 'accepted') refusedSenders.add(known)
    return { kind: 'mail-from', outcome: known }
  })
}

function checkRates({ deps }: ActionContext, ip: string): Awaitable<SenderOutcome> {
  const [traffic, mail] = [deps.allowTraffic(ip), deps.allowMail(ip)]
  if (traffic instanceof Promise || mail instanceof Promise) {
    return Promise.all([traffic, mail]).then(([trafficOk, mailOk]) =>
      rateOutcome(trafficOk, mailOk),
    )
  }
  return rateOutcome(traffic, mail)
}

function rateOutcome(trafficOk: boolean, mailOk: boolean): SenderOutcome {
  if (!trafficOk) return 'too_much_data'
  return mailOk ? 'accepted' : 'too_many_mails'
}

function storageFault(
  { deps, reportOutage }: ActionContext,
  size: number,
): Awaitable<'no_space' | 'unavailable' | undefined> {
  if (!hasMemoryFor(deps, size)) return 'no_space'
  return whenAvailable(deps.storageFault(), (fault) => {
    if (fault?.kind !== 'unavailable') return fault && 'no_space'
    reportOutage(fault)
    return 'unavailable'
  })
}

// Checked, not reserved: declaring a size costs the client nothing.
function hasMemoryFor(deps: SmtpDeps, size: number): boolean {
  if (size === 0) return true
  if (!deps.reserveBytes(size)) return false
  deps.releaseBytes(size)
  return true
}

function checkRecipient(
  context: ActionContext,
  ip: string,
  { text, size, others }: Extract<Action, { kind: 'rcpt-to' }>,
): Awaitable<ActionResult> {
  const outcome = recoverable<RecipientOutcome>(
    () => context.deps.acceptRecipient(text, { size, others, ip }),
    // Whether its domain is a wildcard is not known.
    (err) => ({ refused: serverError(context, err, { ip, command: 'RCPT' }), wildcard: true }),
  )
  return whenAvailable(outcome, (known) => {
    if ('refused' in known) refusedRecipients.add(known.refused)
    return { kind: 'rcpt-to', outcome: known }
  })
}

async function deliverMail(
  context: ActionContext,
  ip: string,
  { raw, size, recipients, envelope }: Extract<Action, { kind: 'message' }>,
): Promise<ActionResult> {
  const { deps } = context
  let result: ReceiveResult | { outcome: ServerError }
  try {
    result = await deps.receiveMail({ recipients, envelope, raw })
  } catch (err) {
    result = { outcome: serverError(context, err, { ip, command: 'DATA' }) }
  }
  const { outcome } = result
  countMailOutcome(outcome, size)
  deps.log.debug({ ip, outcome, bytes: size, recipients: recipients.length }, 'message received')
  if (result.outcome !== 'stored') return { kind: 'message', outcome: result.outcome }
  const stored = new Set(result.recipients.map(({ address }) => address))
  return {
    kind: 'message',
    outcome: 'stored',
    recipients: recipients.filter(({ address }) => stored.has(address)),
    id: deps.mailLog.newId(),
  }
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
