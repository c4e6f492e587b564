import { acceptsSessions, hostOf, type MailDomain } from '../../base/address.ts'
import { secretHash } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'
import type { Bus } from '../../bus/bus.ts'
import {
  extendedExpiry,
  isLive,
  isPermanent,
  isWithinCooldown,
  keyedTopic,
  type LifetimeLimits,
  maxLifetimeSeconds,
  requestedLifetimeSeconds,
  type Session,
} from '../rules/session.ts'
import type { MailStore, SessionChange } from '../store.ts'
import type { AliasAccounts } from './alias-accounts.ts'
import { domainAt } from './domains.ts'

interface SessionDeps {
  store: MailStore
  now(): Date
}

type WakingBus = Pick<Bus, 'wake'>

const TOKEN = /^[A-Za-z0-9_-]{43}$/

/** The live session of this token. Read on every request, so that an ended session stops working at once. */
export async function liveSession({ store, now }: SessionDeps, token: string): Promise<Session> {
  const session = await knownSession(store, token)
  if (!isLive(session, now())) throw sessionExpired()
  return session
}

/** Live, or expired and not deleted yet; not one that its owner ended. Callers check the times. */
async function knownSession(store: MailStore, token: string): Promise<Session> {
  const session = TOKEN.test(token) ? await store.findSession(secretHash(token)) : undefined
  if (!session) throw new Problem('invalid_token', 'token: no session has this token.')
  return session
}

export function sessionExpired(): Problem {
  return new Problem('session_expired', 'The session has expired. Create a new one.')
}

/** Wakes waiters with the token of the session, and with the key it was created with. */
export function wakeSession(bus: WakingBus, { id, keyId }: Pick<Session, 'id' | 'keyId'>): void {
  bus.wake(id)
  if (keyId !== undefined) bus.wake(keyedTopic('key', keyId))
}

/** Ends the session now and wakes its waiters. */
export async function endSession(
  deps: SessionDeps & { bus: WakingBus },
  token: string,
): Promise<void> {
  const session = await liveSession(deps, token)
  const isEnded = await deps.store.endSession(session.id, deps.now(), secretHash(token))
  if (!isEnded) await throwEnded(deps, token)
  wakeSession(deps.bus, session)
}

/** For a write that found no live session with the token: since the request found it, it has ended or got another token. */
async function throwEnded(deps: SessionDeps, token: string): Promise<never> {
  await liveSession(deps, token)
  throw sessionExpired()
}

/** Changes the rules or the label of a live session. Waiters with its token are woken, because its version changes. */
export async function updateSession(
  deps: SessionDeps & { bus: WakingBus },
  token: string,
  set: SessionChange['set'],
): Promise<Session> {
  await liveSession(deps, token)
  const change = { tokenHash: secretHash(token), now: deps.now(), set }
  const session = (await deps.store.updateSession(change)) ?? (await throwEnded(deps, token))
  deps.bus.wake(session.id)
  return session
}

interface ExtendSessionDeps extends SessionDeps {
  bus: WakingBus
  aliasAccounts: AliasAccounts
  lifetimes: LifetimeLimits
  cooldownMs: number
}

/** Extends a live session; revives one in cooldown for its owner, with an empty mailbox. */
export async function extendSession(
  deps: ExtendSessionDeps,
  token: string,
  ttl: number | undefined,
): Promise<Session> {
  const { store, lifetimes } = deps
  const session = await knownSession(store, token)
  if (isPermanent(session)) {
    throw new Problem('invalid_parameter', 'token: this session does not expire.')
  }
  const domain = await domainOf(store, session)
  const seconds = requestedLifetimeSeconds(ttl, { domain, lifetimes, keyed: isKeyed(session) })
  const extension = { domain, seconds, now: deps.now(), token }
  if (isLive(session, extension.now)) return await extend(deps, session, extension)

  const revived = await revive(deps, session, extension)
  if (revived) return revived
  // Another request may have revived it meanwhile, in a new mailbox.
  const again = await knownSession(store, token)
  if (!isLive(again, extension.now)) throw sessionExpired()
  return await extend(deps, again, extension)
}

interface Extension {
  domain: MailDomain | undefined
  seconds: number
  now: Date
  token: string
}

async function extend(
  deps: ExtendSessionDeps,
  session: Session,
  { domain, seconds, now, token }: Extension,
): Promise<Session> {
  const { store, lifetimes, bus } = deps
  const cap = maxLifetimeSeconds(domain, lifetimes, isKeyed(session))
  const expiresAt = extendedExpiry(session, now, seconds, cap)
  const extended =
    (await store.extendSession(session.id, expiresAt, now, secretHash(token))) ??
    (await throwEnded(deps, token))
  wakeSession(bus, session)
  return extended
}

/** The cap counts from the revival, which is a new session in all but its address and token. */
async function revive(
  deps: ExtendSessionDeps,
  session: Session,
  { domain, seconds, now, token }: Extension,
): Promise<Session | undefined> {
  const { store, cooldownMs } = deps
  if (!isWithinCooldown(session, now, cooldownMs)) return undefined
  if (!(await isAvailable(deps, session, domain))) return undefined
  const expiresAt = new Date(now.getTime() + seconds * 1000)
  const { id: mailbox, keyId, ownDomain } = session
  const revival = { mailbox, tokenHash: secretHash(token), keyId, ownDomain }
  return await store.reviveSession({ ...revival, now, expiresAt, cooldownMs })
}

function isKeyed({ keyId }: Session): boolean {
  return keyId !== undefined
}

/** An alias belongs to its account, even if its host is one of our domains. */
async function domainOf(
  store: MailStore,
  { accountId, address }: Session,
): Promise<MailDomain | undefined> {
  return accountId === undefined ? await domainAt(store, hostOf(address)) : undefined
}

/** Whether the domain or account still accepts sessions. */
async function isAvailable(
  deps: ExtendSessionDeps,
  { accountId, keyId }: Session,
  domain: MailDomain | undefined,
): Promise<boolean> {
  if (accountId === undefined) return domain !== undefined && acceptsSessions(domain, keyId)
  return (await deps.aliasAccounts.list()).some(({ id }) => id === accountId)
}
