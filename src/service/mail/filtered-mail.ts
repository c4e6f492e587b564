import { type MailFilter, matchesFilter } from '../../core/mail-filter.ts'
import type { MessageSummary } from '../../core/message.ts'
import type { Session } from '../../core/session.ts'
import type { MessagePage } from '../../store/store.ts'
import type { ServiceDeps } from '../deps.ts'
import { liveSession } from '../sessions/session.ts'
import type { FoundMailbox, MailboxState } from './check-mail.ts'
import type { MailChange } from './mailbox-view.ts'

type FilterDeps = Pick<ServiceDeps, 'store' | 'codes' | 'now'>

const ALL = Number.MAX_SAFE_INTEGER

/** The messages that match, newest first, with the results of scans that end within a short time. */
export async function listMatching(
  deps: FilterDeps,
  { token, session, throwIfClosed = () => {} }: FoundMailbox,
  { filter, sinceId, limit }: MessagePage & { filter: MailFilter },
): Promise<{ session: Session; messages: MessageSummary[] }> {
  const { store, codes } = deps
  const all = await store.listMessages(session.id, { sinceId, limit: ALL })
  const possible = all.filter((message) => matchesFilter(filter, message) !== false)
  const wanted = filter.hasCode ? possible : possible.slice(0, limit)
  const matching = (messages: readonly MessageSummary[]) =>
    messages.filter((message) => matchesFilter(filter, message)).slice(0, limit)
  if (!(await codes.scan(session.id, wanted)?.found())) {
    return { session, messages: matching(possible) }
  }
  throwIfClosed()
  const current = await liveSession(deps, token)
  throwIfClosed()
  const again = await store.listMessages(current.id, { sinceId, limit: ALL })
  return { session: current, messages: matching(again) }
}

/** True once there is a matching message newer than `sinceId`. Each message is tested once; again when it has been scanned. */
export function matchTest(
  { codes }: Pick<ServiceDeps, 'codes'>,
  filter: MailFilter,
  sinceId: number,
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
    const { yes = [], unknown = [] } = Object.groupBy(messages, (message) => {
      const isMatch = matchesFilter(filter, message)
      return isMatch === undefined ? 'unknown' : isMatch ? 'yes' : 'no'
    })
    undecided = new Set(unknown.map(({ id }) => id))
    // A message for which the queue has no room is requested again by the next poll.
    const isComplete = codes.scan(session.id, unknown)?.complete ?? true
    version = isComplete ? session.version : -1
    return yes.length > 0
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
