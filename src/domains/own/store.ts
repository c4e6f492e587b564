import type { Address, Host } from '../../base/address.ts'
import { idBounds } from '../../base/id.ts'
import {
  type AsyncMethods,
  type CreatedPage,
  type Operation,
  pageStart,
  query,
} from '../../base/operation.ts'
import { catchAllAddress, PERMANENT, type Session } from '../../mail/rules/session.ts'
import { INSERT_SESSION } from '../../mail/session-store.ts'
import { type OwnDomain, type OwnDomainReason, reservingNames } from './rules.ts'
import { type OwnDomainRow, ownDomainOf } from './store-rows.ts'

// Claims of key holders to domains. The one that is not pending holds its name: mail_domain then has a row with the key as its
// owner, which decides about mail and new sessions, and a session at the address `@name`, in which mail without another session
// is kept. Both change in the commit that changes the claim.

export type NewOwnDomain = Pick<OwnDomain, 'id' | 'keyId' | 'name' | 'token' | 'createdAt'>

/** Null: cleared; what is not named stays. A pending claim stays pending. */
export type OwnDomainChange = Partial<{
  state: 'active' | 'suspended'
  reason: OwnDomainReason | null
  catchAll: boolean
  checkedAt: Date | null
  missingSince: Date | null
  lapsedSince: Date | null
}>

/** Sessions that have ended, for the caller to wake. */
export type EndedSession = Pick<Session, 'id' | 'keyId'>

export interface Activation {
  /** held: another claim holds the name, or the operator has suspended this one; reserved: the operator has it, or one above it. */
  outcome: 'active' | 'held' | 'reserved' | 'not_found'
  ended: EndedSession[]
}

export interface OwnDomainStore
  extends AsyncMethods<typeof ownDomainReads>,
    AsyncMethods<typeof ownDomainWrites>,
    AsyncMethods<typeof ownDomainTransactions> {}

export const ownDomainReads = {
  /** Oldest first. */
  listOwnDomains: (keyId: string): Operation<OwnDomain[]> =>
    ownDomains('where key_id = $1 order by created_at, id', [keyId]),

  /** Of all keys, newest first. */
  listAllOwnDomains: ({ limit, before }: CreatedPage): Operation<OwnDomain[]> =>
    ownDomains('where (created_at, id) < ($1, $2) order by created_at desc, id desc limit $3', [
      ...pageStart(before),
      limit,
    ]),

  /** With a key: only if it is that key's. */
  *findOwnDomain(id: string, keyId?: string): Operation<OwnDomain | undefined> {
    return (yield* ownDomains('where id = $1 and key_id = coalesce($2, key_id)', [id, keyId]))[0]
  },

  /** Those that hold a domain, and whose record was not found since they were restored. */
  listUnconfirmedOwnDomains: (): Operation<OwnDomain[]> =>
    ownDomains(`where state <> 'pending' and checked_at is null order by created_at, id`, []),

  *isRestoredDomain(name: Host): Operation<boolean> {
    const found = yield* query(
      `select 1 from mail.own_domain where name = $1 and state = 'suspended' and reason = 'restored'`,
      [name],
    )
    return found.length > 0
  },

  /** The claim that is not pending. */
  *findDomainHolder(name: Host): Operation<OwnDomain | undefined> {
    return (yield* ownDomains(HOLDER, [name]))[0]
  },
}

export const ownDomainWrites = {
  /** Counts mails that were refused at RCPT; those taken are counted in the commit of the mail. */
  *countOwnRefused(name: Host, count: number): Operation<void> {
    yield* query(
      `update mail.own_domain set refused = refused + $2 where name = $1 and state <> 'pending'`,
      [name, count],
    )
  },
}

/** Each in one transaction. They lock the claim, then the mail domain, then sessions. */
export const ownDomainTransactions = {
  /** `max`: how many the key may have. */
  *addOwnDomain(
    { id, keyId, name, token, createdAt }: NewOwnDomain,
    max: number,
  ): Operation<OwnDomain | 'exists' | 'limit' | 'reserved'> {
    // Locks the row of the key, so that concurrent requests are counted.
    yield* query(
      `insert into mail.key_view (key_id, version) values ($1, 1)
       on conflict (key_id) do update set version = key_view.version`,
      [keyId],
    )
    const known = yield* ownDomainReads.listOwnDomains(keyId)
    if (known.some((claim) => claim.name === name)) return 'exists'
    if (yield* isReserved(name)) return 'reserved'
    if (known.length >= max) return 'limit'
    const [row] = yield* query<OwnDomainRow>(
      `insert into mail.own_domain (id, key_id, name, token, state, created_at)
       values ($1, $2, $3, $4, 'pending', $5) returning *`,
      [id, keyId, name, token, createdAt.getTime()],
    )
    if (!row) throw new Error('the claim was not inserted')
    return ownDomainOf(row)
  },

  /**
   * Makes a verified claim the holder of its name. `replaces`: the claim whose record was just found missing; it loses the domain
   * with all sessions and mail, and is pending again, unless its record was found since it was read. A claim that is not pending
   * stays as it is.
   */
  *activateOwnDomain({
    id,
    keyId,
    now,
    replaces,
  }: {
    id: string
    keyId: string
    now: Date
    replaces?: Pick<OwnDomain, 'id' | 'checkedAt'> | undefined
  }): Operation<Activation> {
    const claim = yield* lockClaim(id, keyId)
    if (!claim) return { outcome: 'not_found', ended: [] }
    if (claim.state !== 'pending') return { outcome: 'active', ended: [] }
    if (isBanned(claim)) return { outcome: 'held', ended: [] }
    const { name, catchAll } = claim
    if (yield* isReserved(name)) return { outcome: 'reserved', ended: [] }
    const [holder] = yield* ownDomains(`${HOLDER} for no key update`, [name])
    const mayReplace = holder?.id === replaces?.id && !isFoundSince(holder, replaces)
    if (holder && (!mayReplace || isBanned(holder))) return { outcome: 'held', ended: [] }
    // The name is unique: of concurrent transactions without a holder, one inserts it.
    const owned = yield* query(
      holder
        ? `update mail.mail_domain set owner = $2, active = true, reader = $3
           where name = $1 and owner is not null returning id`
        : `insert into mail.mail_domain (name, owner, sessions, reader) values ($1, $2, false, $3)
           on conflict do nothing returning id`,
      [name, keyId, catchAll],
    )
    if (owned.length === 0) {
      return { outcome: (yield* isReserved(name)) ? 'reserved' : 'held', ended: [] }
    }
    const ended = holder ? yield* endOwnSessions(name, now) : []
    if (holder) {
      yield* query(
        `update mail.own_domain set state = 'pending', reason = 'taken_over', verified_at = null,
           missing_since = null, lapsed_since = null, taken = 0, refused = 0
         where id = $1`,
        [holder.id],
      )
    }
    yield* query(
      `update mail.own_domain set state = 'active', reason = null, verified_at = $2, checked_at = $2,
         missing_since = null, lapsed_since = null
       where id = $1`,
      [id, now.getTime()],
    )
    yield* addCatchAll(name, keyId, now)
    return { outcome: 'active', ended }
  },

  /** `was`: only if its state is still the one that the change was decided by. */
  *changeOwnDomain(
    id: string,
    change: OwnDomainChange,
    keyId?: string,
    was?: Pick<OwnDomain, 'state' | 'reason' | 'checkedAt'>,
  ): Operation<OwnDomain | undefined> {
    const claim = yield* lockClaim(id, keyId)
    if (!claim) return undefined
    if (was && !isSameState(claim, was)) return claim
    const { state, reason, checkedAt, missingSince, lapsedSince, ...next } = { ...claim, ...change }
    const isHeld = claim.state !== 'pending'
    const [row] = yield* query<OwnDomainRow>(
      `update mail.own_domain set state = $2, reason = $3, catch_all = $4, checked_at = $5,
         missing_since = $6, lapsed_since = $7
       where id = $1 returning *`,
      [
        ...[id, isHeld ? state : 'pending', reason, next.catchAll],
        ...[checkedAt, missingSince, lapsedSince].map((time) => time?.getTime()),
      ],
    )
    if (isHeld) {
      yield* query(
        'update mail.mail_domain set active = $3, reader = $4 where name = $1 and owner = $2',
        [claim.name, claim.keyId, state === 'active', next.catchAll],
      )
    }
    return row && ownDomainOf(row)
  },

  /**
   * Undefined if it does not exist, or is not that key's. A key cannot delete one that the operator has suspended: it could claim it
   * again. The addresses stay in the ledger.
   */
  *deleteOwnDomain(
    id: string,
    keyId: string | undefined,
    now: Date,
  ): Operation<EndedSession[] | 'suspended' | undefined> {
    const claim = yield* lockClaim(id, keyId)
    if (!claim) return undefined
    if (keyId !== undefined && isBanned(claim)) return 'suspended'
    yield* query('delete from mail.own_domain where id = $1', [id])
    if (claim.state === 'pending') return []
    yield* query('delete from mail.mail_domain where name = $1 and owner = $2', [
      claim.name,
      claim.keyId,
    ])
    return yield* endOwnSessions(claim.name, now)
  },
}

/** Also a claim that a restore has made pending. */
const isBanned = ({ reason }: OwnDomain) => reason === 'suspended_by_operator'

type Checked = Pick<OwnDomain, 'checkedAt'> | undefined

const isSameCheck = (a: Checked, b: Checked) => a?.checkedAt?.getTime() === b?.checkedAt?.getTime()

function isSameState(a: OwnDomain, b: Pick<OwnDomain, 'state' | 'reason' | 'checkedAt'>): boolean {
  return a.state === b.state && a.reason === b.reason && isSameCheck(a, b)
}

function isFoundSince(holder: OwnDomain | undefined, before: Checked): boolean {
  return !isSameCheck(holder, before) && !holder?.missingSince
}

const HOLDER = `where name = $1 and state <> 'pending'`

function* lockClaim(id: string, keyId: string | undefined): Operation<OwnDomain | undefined> {
  const where = 'where id = $1 and key_id = coalesce($2, key_id) for no key update'
  return (yield* ownDomains(where, [id, keyId]))[0]
}

/** Whether the operator has the name, one above it, or a wildcard that includes it. */
function* isReserved(name: Host): Operation<boolean> {
  const found = yield* query(
    'select 1 from mail.mail_domain where name = any($1::text[]) and owner is null limit 1',
    [reservingNames(name)],
  )
  return found.length > 0
}

/**
 * Ends all sessions at the domain, in their cool-down too: none can be revived. They keep their addresses, but for the catch-all,
 * whose address is free for the next holder. The sweep deletes their mail, which nobody can read from the commit on.
 */
function* endOwnSessions(name: Host, now: Date): Operation<EndedSession[]> {
  // Locked in the order in which the commit of a mail does.
  yield* query('select 1 from mail.session where own_domain = $1 order by id for no key update', [
    name,
  ])
  const rows = yield* query<{ id: Session['id']; key_id: string }>(
    `update mail.session set token_hash = null, version = version + 1,
       expires_at = case when expires_at < $2 then expires_at else $2 end,
       address = case when address = $3 then null else address end
     where own_domain = $1 and token_hash is not null returning id, key_id`,
    [name, now.getTime(), catchAllAddress(name)],
  )
  return rows.map((row) => ({ id: row.id, keyId: row.key_id }))
}

const MAX_TRIES = 20

/** The session for mail without another one. Its token is the hash of no secret. */
export function* addCatchAll(name: Host, keyId: string, now: Date): Operation<void> {
  const address: Address = catchAllAddress(name)
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const { step, least } = idBounds(now, Math.random())
    const added = yield* query(INSERT_SESSION, [
      ...[step, least, address, address, keyId, null],
      ...[now.getTime(), PERMANENT.getTime(), 0, null, null, null, name, name, null],
    ])
    if (added.length > 0) return
  }
  throw new Error('no free session id was found')
}

function* ownDomains(
  where: string,
  values: readonly (string | number | undefined)[],
): Operation<OwnDomain[]> {
  const rows = yield* query<OwnDomainRow>(`select * from mail.own_domain ${where}`, values)
  return rows.map(ownDomainOf)
}
