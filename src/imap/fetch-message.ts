import type { FolderState } from '../core/gmail.ts'
import type { LogFacts } from '../core/log.ts'
import type { Recipient } from '../core/recipient.ts'
import { fetchBody } from './body.ts'
import type { Looking, OpenFolder } from './fetch-new.ts'
import { type Head, identityFor } from './message-headers.ts'
import type { ReceiveResult } from './options.ts'
import type { Place } from './poison-mails.ts'

/** A mail that is for somebody. */
export interface Found {
  head: Head
  recipients: Recipient[]
  /** False if it may name aliases that are not among the recipients. It is then never removed. */
  complete: boolean
}

export const UNREADABLE = 'a mail cannot be read from the server; it stays in the account'

export function placeOf({ name, uidValidity }: OpenFolder, uid: number): Place {
  return { folder: name, uidValidity, uid }
}

/** left: it is not fetched; unreadable: the server has failed too often to show it. */
type TakeResult = ReceiveResult | 'left' | 'unreadable'

/** Fetches a mail and has it kept; the folder stands at `state` afterwards, unless the mail is left. */
export async function take(
  looking: Looking,
  folder: OpenFolder,
  { head, recipients, complete }: Found,
  state: FolderState = { uidValidity: folder.uidValidity, lastUid: head.uid },
): Promise<TakeResult> {
  const { deps, account, limits, session, budget, doubts } = looking
  const facts: LogFacts = { account: account.masked, uid: head.uid, size: head.size }
  const place = placeOf(folder, head.uid)
  if (head.size > limits.maxBytes) {
    deps.log.warn(facts, 'a mail is larger than is taken; it stays in the account')
    return 'left'
  }
  if (doubts.given(place)) {
    deps.log.warn(facts, UNREADABLE)
    // At once: the next mail may end the connection.
    await deps.passed(folder.name, state)
    looking.progressed()
    return 'unreadable'
  }
  const raw = await doubts.during([place], () => fetchBody(session, head, looking.bodyMs))
  budget.spend({ bytes: session.received() }, deps.now())
  if (!raw) return 'left'
  const result = await deps.receive({
    folder: folder.name,
    uid: head.uid,
    state,
    recipients: recipients.map((one) => ({ ...one, identity: identityFor(head, one.address) })),
    raw,
    receivedAt: head.receivedAt ?? deps.now(),
  })
  if (result === 'full' || result === 'partly') {
    deps.log.warn(facts, 'no room for a mail; it stays in the account and is tried again')
  }
  if (complete && (result === 'kept' || result === 'known')) looking.fetched(folder, head.uid)
  if (result === 'kept' || result === 'partly') looking.progressed()
  return result
}
