import { secretHash } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { isLive, keyedTopic, type Session } from '../../core/session.ts'
import type { ServiceDeps } from '../deps.ts'

const TOKEN = /^[A-Za-z0-9_-]{43}$/

/** The live session of this token. Read on every request, so that an ended session stops working at once. */
export async function liveSession(
  { store, now }: Pick<ServiceDeps, 'store' | 'now'>,
  token: string,
): Promise<Session> {
  const session = await knownSession(store, token)
  if (!isLive(session, now())) throw sessionExpired()
  return session
}

/** Live or in cooldown. */
export async function knownSession(store: ServiceDeps['store'], token: string): Promise<Session> {
  const session = TOKEN.test(token) ? await store.findSession(secretHash(token)) : undefined
  if (!session) throw new Problem('invalid_token', 'token: no session has this token.')
  return session
}

export function sessionExpired(): Problem {
  return new Problem('session_expired', 'The session has expired. Create a new one.')
}

/** Wakes waiters with the token of the session, and with the key it was created with. */
export function wakeSession(
  bus: ServiceDeps['bus'],
  { id, keyId }: Pick<Session, 'id' | 'keyId'>,
): void {
  bus.wake(id)
  if (keyId !== undefined) bus.wake(keyedTopic('key', keyId))
}

/** Ends the session now and wakes its waiters. */
export async function endSession(
  deps: Pick<ServiceDeps, 'store' | 'bus' | 'now'>,
  token: string,
): Promise<void> {
  const session = await liveSession(deps, token)
  if (!(await deps.store.endSession(session.id, deps.now()))) throw sessionExpired()
  wakeSession(deps.bus, session)
}
