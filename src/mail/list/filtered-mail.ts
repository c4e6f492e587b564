import type { MailDeps } from '../deps.ts'
import type { StepRequest } from '../read/step-scheduler.ts'
import { groupSteps, type MailFilter, matchesFilter, needsScan } from '../rules/filter.ts'
import type { MessageSummary } from '../rules/message.ts'
import type { Session } from '../rules/session.ts'
import { liveSession } from '../sessions/session.ts'
import { type FoundMailbox, listFor } from './check-mail.ts'

interface FilterRequest extends Pick<StepRequest, 'client' | 'signal'> {
  filter: MailFilter
  sinceId: number
}

/** The messages that match, newest first, with the results of scans that end within a short time. */
export async function listMatching(
  deps: Pick<MailDeps, 'store' | 'codes' | 'steps' | 'now'>,
  { token, session, throwIfClosed = () => {} }: FoundMailbox,
  { limit, ...request }: FilterRequest & { limit: number },
): Promise<{ session: Session; messages: MessageSummary[] }> {
  const page = { sinceId: request.sinceId, limit: Number.MAX_SAFE_INTEGER }
  const all = await listFor(deps, { token, session, throwIfClosed }, page)
  const { matching, undecided } = await applyFilter(deps, session, all, request)
  const messages = matching.slice(0, limit)
  // Those whose code or links decide; else those that are listed, for their previews.
  const wanted = needsScan(request.filter) ? undecided : messages
  if (!(await deps.codes.scan(session.id, wanted)?.found())) return { session, messages }
  throwIfClosed()
  const current = await liveSession(deps, token)
  throwIfClosed()
  const then = await listFor(deps, { token, session: current, throwIfClosed }, page)
  const again = await applyFilter(deps, current, then, request)
  return { session: current, messages: again.matching.slice(0, limit) }
}

/** True once there is a matching message. Those are tested again that are newer than one that has not been scanned yet. */
export function matchTest(
  deps: Pick<MailDeps, 'store' | 'codes' | 'steps'>,
  request: FilterRequest,
): (session: Session) => Promise<boolean> {
  let { sinceId } = request
  let version: number | undefined

  return async (session) => {
    if (session.lastId <= sinceId || session.version === version) return false
    const page = { sinceId, limit: Number.MAX_SAFE_INTEGER }
    const all = await deps.store.listMessages(session.id, page)
    const { matching, undecided } = await applyFilter(deps, session, all, request)
    // Messages for which the queue has no room are requested again by the next poll.
    const isComplete = deps.codes.scan(session.id, undecided)?.complete ?? true
    version = isComplete ? session.version : undefined
    sinceId = Math.min(all[0]?.id ?? session.lastId, ...undecided.map(({ id }) => id - 1))
    return matching.length > 0
  }
}

async function applyFilter(
  { steps }: Pick<MailDeps, 'steps'>,
  { id: mailbox }: Session,
  all: readonly MessageSummary[],
  { filter, client, signal }: FilterRequest,
): Promise<{ matching: MessageSummary[]; undecided: MessageSummary[] }> {
  const test = (message: MessageSummary) => matchesFilter(filter, message)
  const groups = await steps.run({ client, signal, mailbox }, groupSteps(all, test))
  return { matching: groups.get(true) ?? [], undecided: groups.get(undefined) ?? [] }
}
