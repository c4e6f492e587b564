import type { MailDeps } from '../deps.ts'
import type { StepRequest } from '../read/step-scheduler.ts'
import { groupSteps, type MailFilter, matchesFilter } from '../rules/filter.ts'
import type { MessageSummary } from '../rules/message.ts'
import type { Session } from '../rules/session.ts'
import { liveSession } from '../sessions/session.ts'
import type { MessagePage } from '../store.ts'
import type { FoundMailbox, MailboxState } from './check-mail.ts'
import type { MailChange } from './mailbox-view.ts'

type FilterDeps = Pick<MailDeps, 'store' | 'codes' | 'steps' | 'now'>

const ALL = Number.MAX_SAFE_INTEGER

/** The messages that match, newest first, with the results of scans that end within a short time. */
export async function listMatching(
  deps: FilterDeps,
  { token, session, throwIfClosed = () => {} }: FoundMailbox,
  { sinceId, limit, ...test }: MessagePage & FilterRequest,
): Promise<{ session: Session; messages: MessageSummary[] }> {
  const { store, codes } = deps
  const all = await store.listMessages(session.id, { sinceId, limit: ALL })
  const { matching, undecided } = await applyFilter(deps, session, all, test)
  const messages = matching.slice(0, limit)
  // Those whose code decides; else those that are listed, for their previews.
  const wanted = test.filter.hasCode ? undecided : messages
  if (!(await codes.scan(session.id, wanted)?.found())) return { session, messages }
  throwIfClosed()
  const current = await liveSession(deps, token)
  throwIfClosed()
  const again = await store.listMessages(current.id, { sinceId, limit: ALL })
  const found = await applyFilter(deps, current, again, test)
  return { session: current, messages: found.matching.slice(0, limit) }
}

interface FilterRequest extends Pick<StepRequest, 'client' | 'signal'> {
  filter: MailFilter
}

async function applyFilter<M extends MessageSummary>(
  { steps }: Pick<MailDeps, 'steps'>,
  { id: mailbox }: Session,
  messages: readonly M[],
  { filter, ...request }: FilterRequest,
): Promise<{ matching: M[]; undecided: M[] }> {
  const test = (message: M) => matchesFilter(filter, message)
  const groups = await steps.run({ ...request, mailbox }, groupSteps(messages, test))
  return { matching: groups.get(true) ?? [], undecided: groups.get(undefined) ?? [] }
}

/** True once there is a matching message newer than `sinceId`. Each message is tested once; again when it has been scanned. */
export function matchTest(
  deps: Pick<MailDeps, 'codes' | 'steps'>,
  { sinceId, ...test }: FilterRequest & { sinceId: number },
): (state: MailboxState) => Promise<boolean> {
  let testedUpTo = sinceId
  let undecided: ReadonlySet<number> = new Set()
  let version = -1

  return async ({ session, newerThan }) => {
    if (session.version === version) return false
    const oldest = Math.min(testedUpTo, ...[...undecided].map((id) => id - 1))
    const messages = (await newerThan(oldest)).filter(
      ({ id }) => id > testedUpTo || undecided.has(id),
    )
    testedUpTo = Math.max(testedUpTo, messages[0]?.id ?? 0)
    const found = await applyFilter(deps, session, messages, test)
    undecided = new Set(found.undecided.map(({ id }) => id))
    // A message for which the queue has no room is requested again by the next poll.
    const isComplete = deps.codes.scan(session.id, found.undecided)?.complete ?? true
    version = isComplete ? session.version : -1
    return found.matching.length > 0
  }
}

/**
 * The changes that a stream with this filter reports. A message that is found to have a code only later is then reported as
 * new, also one that was there when the stream started (`unscanned`). Until then, clients resume before it, and may get newer
 * messages again.
 */
export function changeFilter(
  filter: MailFilter,
  sinceId: number,
  unscanned: ReadonlySet<number> = new Set(),
): (change: MailChange) => MailChange | undefined {
  const reported = new Set<number>()
  const undecided = new Set<number>()
  const isKnown = (id: number) => id <= sinceId && !(filter.hasCode && unscanned.has(id))
  let newest = sinceId

  return (change) => {
    if (change.kind === 'deleted') {
      const { id } = change
      undecided.delete(id)
      // The client may know older messages from a former stream.
      return reported.delete(id) || id <= sinceId ? change : undefined
    }
    const { kind, message } = change
    const { id } = message
    newest = Math.max(newest, id)
    const isMatch = matchesFilter(filter, message)
    if (isMatch === undefined) undecided.add(id)
    else undecided.delete(id)
    if (!isMatch) return undefined
    if (kind === 'updated' && (isKnown(id) || reported.has(id))) return change
    reported.add(id)
    const resumeAfter = Math.min(newest, ...[...undecided].map((one) => one - 1))
    // The same object for all streams if possible: it is formatted once.
    return kind === 'message' && resumeAfter === id
      ? change
      : { kind: 'message', message, resumeAfter }
  }
}
