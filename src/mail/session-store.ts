import { type Host, hostOf } from '../base/address.ts'
import { idBounds } from '../base/id.ts'
import { type Operation, query, type Value } from '../base/operation.ts'
import { type AddressRules, NO_RULES } from '../shared/address-rules.ts'
import { assignedLedger, LEDGER_COLUMNS, type LedgerRow } from './ledger-store.ts'
import type { LedgerHmac } from './rules/ledger.ts'
import { isLive, isWithinCooldown, type MailboxId, type Session } from './rules/session.ts'
import type { NewSession, Revival, SessionChange } from './store.ts'
import { LIVE, SESSION_COLUMNS, type SessionRow, sessionOf } from './store-rows.ts'

/** What the engines do differently. */
interface SessionEngine {
  hmac: LedgerHmac
  random: () => number
  /** Runs INSERT_SESSION and adds this entry to the ledger. */
  insertSession(values: readonly Value[], entry: string): Operation<SessionRow[]>
  /** Keeps the raw mail of a locked session until it expires. */
  keepRaws(session: SessionRow, expiresAt: Date, now: Date): Operation<void>
}

/**
 * Nothing if the address, the token or the drawn id exists, if a key holds the host $14 and the session is not for its domain, or if
 * the address, whose HMAC is $15, is kept for somebody else.
 */
export const INSERT_SESSION = `insert into mail.session (id, address, token_hash, key_id, account_id, created_at,
    expires_at, last_id, only_from, max_messages, label, own_domain)
  select greatest(coalesce((select max(id) from mail.session), 0) + $1, $2), $3, $4, $5, cast($6 as integer),
    cast($7 as bigint), cast($8 as bigint), cast($9 as bigint), $10, cast($11 as integer), $12, cast($13 as text)
  where ($13 is not null or not exists (
    select 1 from mail.mail_domain where name = $14 and owner is not null))
    and not exists (select 1 from mail.kept_address where hmac = $15)
  on conflict do nothing returning ${SESSION_COLUMNS}`

/** Whether addSession, which is one statement, may be tried first. */
export function isOneStatement({ ownDomain, isKept = false }: NewSession): boolean {
  return ownDomain === undefined && !isKept
}

/** To create, extend and revive sessions. Each is one transaction, but addSession needs none. */
export function sessionWrites({ hmac, random, insertSession, keepRaws }: SessionEngine) {
  function* insert(
    session: Omit<NewSession, 'cooldownMs'>,
    revived?: SessionRow,
  ): Operation<Session | undefined> {
    const entry = hmac.of(session.address)
    const { step, least } = idBounds(session.createdAt, random())
    const values = [step, least, ...sessionValues(session, revived?.last_id ?? 0)]
    const [row] = yield* insertSession([...values, revived ? null : entry], entry)
    return row && sessionOf(row)
  }

  return {
    /** For an address that has and had no session; undefined otherwise. */
    *addSession(session: NewSession): Operation<Session | undefined> {
      return (yield* isNewAddressFree(session)) ? yield* insert(session) : undefined
    },

    /**
     * For an address that has or had a session: it is free after its cool-down. And for one at a domain that a key holds, which
     * may change hands meanwhile, and for one that is to be kept.
     */
    *takeOverAddress(session: NewSession): Operation<Session | undefined> {
      if (!(yield* isAllowedAt(hostOf(session.address), session))) return undefined
      // During the cool-down it is only read: no lock delays the mail of its session, no commit waits for the disk.
      const [holder] = yield* query<SessionRow>(
        `select ${SESSION_COLUMNS} from mail.session where address = $1`,
        [session.address],
      )
      const isFree = holder ? isFreeAgain(holder, session) : yield* isNewAddressFree(session)
      const entry = hmac.of(session.address)
      if (!isFree || (yield* isKept(entry))) return undefined
      if (holder) yield* releaseAddress(holder)
      const added = required(yield* insert(session))
      if (session.isKept) yield* query('insert into mail.kept_address (hmac) values ($1)', [entry])
      return added
    },

    /** The old row loses its address and keeps mail that is not swept yet; the owner gets a new, empty mailbox. */
    *reviveSession(revival: Revival): Operation<Session | undefined> {
      if (!(yield* isAllowedAt(revival.ownDomain, revival))) return undefined
      const row = yield* lockSession(revival.mailbox, revival.tokenHash)
      const session = row && revivedSession(row, revival)
      if (!session || session.ownDomain !== revival.ownDomain) return undefined
      yield* releaseAddress(row)
      // Ids continue from the old mailbox, so that a client's since_id stays valid even if the clock has stepped back.
      return required(yield* insert(session, row))
    },

    *extendSession(
      mailbox: MailboxId,
      expiresAt: Date,
      now: Date,
      tokenHash?: string,
    ): Operation<Session | undefined> {
      const row = yield* lockSession(mailbox, tokenHash)
      if (!row || !isExtendable(row, now)) return undefined
      const [extended] = yield* query<SessionRow>(
        `update mail.session set expires_at = $2, version = version + 1 where id = $1
         returning ${SESSION_COLUMNS}`,
        [mailbox, expiresAt.getTime()],
      )
      // After the update, which locks the row of the key: a deletion locks that before raw mail, too.
      yield* keepRaws(row, expiresAt, now)
      return extended && sessionOf(extended)
    },
  }
}

export const sessionEnds = {
  *endSession(mailbox: MailboxId, now: Date, tokenHash?: string): Operation<boolean> {
    const ended = yield* query(
      `update mail.session set expires_at = $2, token_hash = null, version = version + 1
       where id = $1 and token_hash = coalesce($3, token_hash) and expires_at > $2 returning id`,
      [mailbox, now.getTime(), tokenHash],
    )
    return ended.length === 1
  },

  *countRefused(mailbox: MailboxId): Operation<void> {
    yield* query('update mail.session set refused = refused + 1 where id = $1', [mailbox])
  },

  *updateSession({ tokenHash, now, set }: SessionChange): Operation<Session | undefined> {
    // `codes` is part of the version of the session, but not of that of its key, whose mail stays the same.
    const [row] = yield* query<SessionRow>(
      `update mail.session set codes = codes + 1,
         only_from = case when $3 then $4 else only_from end,
         max_messages = case when $5 then cast($6 as integer) else max_messages end,
         label = case when $7 then $8 else label end
       where token_hash = $2 and ${LIVE} returning ${SESSION_COLUMNS}`,
      [
        ...[now.getTime(), tokenHash],
        ...['onlyFrom' in set, set.onlyFrom?.join()],
        ...['maxMessages' in set, set.maxMessages],
        ...['label' in set, set.label],
      ],
    )
    return row && sessionOf(row)
  },
}

/**
 * Whether a session may be at this host: at a domain that a key holds only one of that key, and none while it is suspended. This
 * stays so until the commit: who takes the domain over locks it, too, and ends the sessions that were created before.
 */
function* isAllowedAt(
  host: Host | undefined,
  { ownDomain, keyId }: Pick<Revival, 'ownDomain' | 'keyId'>,
): Operation<boolean> {
  if (host === undefined) return true
  const [held] = yield* query<{ owner: string; active: boolean | number }>(
    'select owner, active from mail.mail_domain where name = $1 and owner is not null for no key update',
    [host],
  )
  if (!held) return ownDomain === undefined
  return ownDomain === host && held.owner === keyId && Boolean(held.active)
}

/** Whether an address without a session is free: while the ledger is unknown, only a random one, or one at a key's own domain. */
function* isNewAddressFree({ isRandom = false, ownDomain }: NewSession): Operation<boolean> {
  if (isRandom || ownDomain !== undefined) return true
  const [row] = yield* query<LedgerRow>(`select ${LEDGER_COLUMNS} from mail.ledger_state`)
  return assignedLedger(row).unknownUntil === undefined
}

function* isKept(entry: string): Operation<boolean> {
  const kept = yield* query('select 1 from mail.kept_address where hmac = $1', [entry])
  return kept.length > 0
}

/** From $3 to $14 of INSERT_SESSION. */
function sessionValues(session: Omit<NewSession, 'cooldownMs'>, lastId: number): Value[] {
  const { address, tokenHash, keyId, accountId, createdAt, expiresAt } = session
  return [
    ...[address, tokenHash, keyId, accountId],
    ...[createdAt.getTime(), expiresAt.getTime(), lastId],
    ...[...ruleValues(session.rules ?? NO_RULES), session.label],
    ...[session.ownDomain, hostOf(address)],
  ]
}

function ruleValues({ onlyFrom, maxMessages }: AddressRules): Value[] {
  return [onlyFrom.length === 0 ? null : onlyFrom.join(), maxMessages]
}

function isFreeAgain(
  holder: SessionRow,
  { createdAt, cooldownMs, keyId, ownDomain }: NewSession,
): boolean {
  // At its own domain, a key need not wait for an address that it has ended.
  const isTheirs = ownDomain !== undefined && holder.key_id === keyId
  return !isWithinCooldown(spanOf(holder), createdAt, isTheirs ? 0 : cooldownMs)
}

/** Undefined if it no longer has this token: it may have been replaced since the request found the session by it. */
function* lockSession(
  mailbox: MailboxId,
  tokenHash: string | undefined,
): Operation<SessionRow | undefined> {
  const [row] = yield* query<SessionRow>(
    `select ${SESSION_COLUMNS} from mail.session where id = $1 for no key update`,
    [mailbox],
  )
  return tokenHash === undefined || row?.token_hash === tokenHash ? row : undefined
}

function* releaseAddress({ id, address, expires_at: expiresAt }: SessionRow): Operation<void> {
  const released = yield* query(
    `update mail.session set address = null, token_hash = null
     where id = $1 and address = $2 and expires_at = $3 returning id`,
    [id, address, expiresAt],
  )
  if (released.length === 0) throw new SessionConflict()
}

/** A concurrent transaction has taken the address or drawn the same id: the caller retries, from before the transaction. */
export class SessionConflict extends Error {
  constructor() {
    super('no free session id was found')
  }
}

function required(session: Session | undefined): Session {
  if (!session) throw new SessionConflict()
  return session
}

/** A swept session is not extendable, even if the clock has stepped back: its mail is gone. */
function isExtendable(row: SessionRow, now: Date): boolean {
  return row.token_hash !== null && !row.cleared && isLive(spanOf(row), now)
}

/** The new session of an owner who revives an expired one; undefined if that is live, or its cool-down has ended. */
function revivedSession(
  row: SessionRow,
  { now, expiresAt, cooldownMs }: Revival,
): Omit<NewSession, 'cooldownMs'> | undefined {
  const { address, token_hash: tokenHash } = row
  if (!address || !tokenHash) return undefined
  if (isLive(spanOf(row), now) || !isWithinCooldown(spanOf(row), now, cooldownMs)) return undefined
  const { keyId, accountId, rules, ownDomain, label } = sessionOf(row)
  const kept = { keyId, accountId, rules, ownDomain, label }
  return { address, tokenHash, createdAt: now, expiresAt, ...kept }
}

function spanOf(row: SessionRow): { expiresAt: Date } {
  return { expiresAt: new Date(row.expires_at) }
}
