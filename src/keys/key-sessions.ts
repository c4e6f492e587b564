import { type Address, parseAddress } from '../base/address.ts'
import { makeSecretToken, secretHash } from '../base/id.ts'
import { Problem } from '../base/problem.ts'
import type { MailDeps } from '../mail/deps.ts'
import type { Session } from '../mail/rules/session.ts'
import { wakeSession } from '../mail/sessions/session.ts'
import type { KeySessionPage } from '../mail/store.ts'

type KeySessionDeps = Pick<MailDeps, 'store' | 'now' | 'bus'>

/** A page of the key's live sessions, newest first. */
export async function listKeySessions(
  { store, now }: Pick<MailDeps, 'store' | 'now'>,
  keyId: string,
  { limit, ...page }: Pick<KeySessionPage, 'beforeId' | 'limit' | 'permanent'>,
): Promise<{ sessions: Session[]; nextAfter: number | undefined }> {
  const found = await store.listKeySessions({ keyId, now: now(), ...page, limit: limit + 1 })
  const sessions = found.slice(0, limit)
  return { sessions, nextAfter: found.length > limit ? sessions.at(-1)?.id : undefined }
}

/** Ends the session at the address, and wakes its waiters. */
export async function endKeySession(
  { store, now, bus }: KeySessionDeps,
  keyId: string,
  email: string,
): Promise<void> {
  const address = parseEmail(email)
  wakeSession(bus, required(await store.endKeySession({ keyId, address, now: now() })))
}

/** Replaces the token of the session at the address. Waiters with the former one are woken, and find it invalid. */
export async function rollSessionToken(
  { store, now, bus, randomBytes }: KeySessionDeps & Pick<MailDeps, 'randomBytes'>,
  keyId: string,
  email: string,
): Promise<{ session: Session; token: string }> {
  const address = parseEmail(email)
  const token = makeSecretToken(randomBytes(32))
  const rolled = { keyId, address, tokenHash: secretHash(token), now: now() }
  const session = required(await store.rollToken(rolled))
  wakeSession(bus, session)
  return { session, token }
}

export function parseEmail(text: string): Address {
  const address = parseAddress(text)
  if (address) return address
  throw new Problem('invalid_parameter', 'email: must be one email address; write + as %2B.')
}

/** The same for a session of somebody else and for none: a stranger must not learn which. */
function required(session: Session | undefined): Session {
  if (session) return session
  throw new Problem('session_not_found', 'email: this key has no live session with this address.')
}
