import type { MailDeps } from '../deps.ts'
import type { StepRequest } from '../read/step-scheduler.ts'
import { groupSteps, type MailFilter, matchesFilter, needsScan } from '../rules/filter.ts'
import type { MessageSummary } from '../rules/message.ts'
import type { Session } from '../rules/session.ts'
import { liveSession } from '../sessions/session.ts'
import type { FoundMailbox } from './check-mail.ts'

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
  const { matching, undecided } = await applyFilter(deps, session, request)
  const messages = matching.slice(0, limit)
  // Those whose code or links decide; else those that are listed, for their previews.
  const wanted = needsScan(request.filter) ? undecided : messages
  if (!(await deps.codes.scan(session.id, wanted)?.found())) return { session, messages }
  throwIfClosed()
  const current = await liveSession(deps, token)
  throwIfClosed()
  const again = await applyFilter(deps, current, request)
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
    const { matching, undecided, newest } = await applyFilter(deps, session, {
      ...request,
      sinceId,
    })
    // Messages for which the queue has no room are requested again by the next poll.
    const isComplete = deps.codes.scan(session.id, undecided)?.complete ?? true
    version = isComplete ? session.version : undefined
    sinceId = Math.min(newest, ...undecided.map(({ id }) => id - 1))
    return matching.length > 0
  }
}

async function applyFilter(
  { store, steps }: Pick<MailDeps, 'store' | 'steps'>,
  { id: mailbox, lastId }: Session,
  { filter, sinceId, ...request }: FilterRequest,
): Promise<{ matching: MessageSummary[]; undecided: MessageSummary[]; newest: number }> {
  const all = await store.listMessages(mailbox, { sinceId, limit: Number.MAX_SAFE_INTEGER })
  const test = (message: MessageSummary) => matchesFilter(filter, message)
  const groups = await steps.run({ ...request, mailbox }, groupSteps(all, test))
  return {
    matching: groups.get(true) ?? [],
    undecided: groups.get(undefined) ?? [],
    newest: all[0]?.id ?? lastId,
  }
}
