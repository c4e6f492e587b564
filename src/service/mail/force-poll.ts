import type { Bus } from '../../bus/bus.ts'
import { accountTopic, type Session } from '../../core/session.ts'
import type { Limit, Rate } from '../../limit/limit.ts'

export interface ForceLookNeeds {
  bus: Pick<Bus, 'wake'>
  limit: Pick<Limit, 'take'>
  now(): Date
}

// For the account's sake, so it counts whoever asks, and also where rates are lifted.
const LOOKS: Rate = { count: 1, seconds: 3, burst: 1 }

/** Asks whoever fetches the session's mail to look for it now, if it is fetched at all. Too often is no fault: somebody has just looked. */
export async function forceLook(
  { bus, limit, now }: ForceLookNeeds,
  { accountId }: Pick<Session, 'accountId'>,
): Promise<void> {
  if (accountId === undefined) return
  const wait = await limit.take(`gmail:look:${accountId}`, LOOKS, now())
  if (wait === 0) bus.wake(accountTopic(accountId))
}
