import type { LogFacts } from '../core/log.ts'
import type { Recipient } from '../core/recipient.ts'
import { fetchBody } from './body.ts'
import type { Place } from './doubts.ts'
import { type Head, identityFor } from './heads.ts'
import type { Looking, OpenFolder } from './look.ts'

/** A mail that is for somebody. */
export interface Found {
  head: Head
  recipients: Recipient[]
}

export const UNREADABLE = 'a mail cannot be read from the server; it stays in the account'

export function placeOf({ name, uidValidity }: OpenFolder, uid: number): Place {
  return { folder: name, uidValidity, uid }
}

/** Fetches a mail and has it kept. True when where the folder stands was committed, with the mail or without. */
export async function take(
  looking: Looking,
  folder: OpenFolder,
  { head, recipients }: Found,
): Promise<boolean> {
  const { needs, account, limits, session, budget, doubts } = looking
  const facts: LogFacts = { account: account.masked, uid: head.uid, size: head.size }
  const place = placeOf(folder, head.uid)
  if (head.size > limits.maxBytes) {
    needs.log.warn(facts, 'a mail is larger than is taken; it stays in the account')
    return false
  }
  const state = { uidValidity: folder.uidValidity, lastUid: head.uid }
  if (doubts.given(place)) {
    needs.log.warn(facts, UNREADABLE)
    // At once: the next mail may end the connection.
    await needs.passed(folder.name, state)
    looking.progressed()
    return true
  }
  const raw = await doubts.during([place], () => fetchBody(session, head, looking.bodyMs))
  budget.spend({ bytes: session.received() }, needs.now())
  if (!raw) return false
  const outcome = await needs.receive({
    folder: folder.name,
    uid: head.uid,
    state,
    recipients: recipients.map((one) => ({ ...one, identity: identityFor(head, one.address) })),
    raw,
    receivedAt: head.receivedAt ?? needs.now(),
  })
  if (outcome === 'full') needs.log.warn(facts, 'no room for a mail; it stays in the account')
  else if (outcome !== 'nobody') looking.fetched(folder, head.uid)
  if (outcome !== 'kept') return false
  looking.progressed()
  return true
}
