import type { Address } from '../../core/address.ts'
import { nextId, secretHash } from '../../core/id.ts'
import { isCooling, isLive, type MailboxId, type Session } from '../../core/session.ts'
import type { NewSession, Revival } from '../store.ts'
import type { Db } from './files.ts'
import type { Touch } from './group-commit.ts'

export interface SessionRow {
  id: MailboxId
  address: Address | null
  token_hash: string | null
  key_id: string | null
  account_id: number | null
  created_at: number
  expires_at: number
  version: number
  /** How many codes were noted, see noteCode. */
  codes: number
  last_id: number
  count: number
  bytes: number
  cleared: number
}

export function sessionReads(db: Db) {
  const byToken = db.prepare<[string], SessionRow>('select * from session where token_hash = ?')

  return {
    findSession(tokenHash: string): Session | undefined {
      const row = byToken.get(tokenHash)
      return row && sessionOf(row)
    },
  }
}

export function sessionWrites(db: Db, random: () => number) {
  const byId = db.prepare<[number], SessionRow>('select * from session where id = ?')
  const byAddress = db.prepare<[string], SessionRow>('select * from session where address = ?')
  const letGo = db.prepare(
    'update session set address = null, token_hash = null, cleared = 0 where id = ?',
  )
  const extend = db.prepare('update session set expires_at = ?, version = version + 1 where id = ?')
  const end = db.prepare(
    'update session set expires_at = ?, token_hash = null, version = version + 1 where id = ?',
  )

  const add = sessionInsert(db, random)

  return {
    createSession({ cooldownMs, ...session }: NewSession, touch: Touch): Session | undefined {
      const former = byAddress.get(session.address)
      if (former) {
        if (isCooling(spanOf(former), session.createdAt, cooldownMs)) return undefined
        letGo.run(former.id)
        touch(former.id)
      }
      return add(session)
    },

    extendSession({ mailbox, expiresAt, now }: ExtendSession, touch: Touch): Session | undefined {
      const row = byId.get(mailbox)
      // Swept already: the clock stood beyond its end when the sweep came by, and its mail is gone.
      if (!row?.token_hash || row.cleared === 1 || !isLive(spanOf(row), now)) return undefined
      extend.run(expiresAt.getTime(), mailbox)
      touch(mailbox)
      return sessionOf({ ...row, expires_at: expiresAt.getTime(), version: row.version + 1 })
    },

    /** The former row is let go with whatever mail is not yet swept; the owner gets a new, empty mailbox. */
    reviveSession(
      { mailbox, now, expiresAt, cooldownMs }: Revival,
      touch: Touch,
    ): Session | undefined {
      const row = byId.get(mailbox)
      if (!row?.address || !row.token_hash) return undefined
      if (isLive(spanOf(row), now) || !isCooling(spanOf(row), now, cooldownMs)) return undefined
      letGo.run(mailbox)
      touch(mailbox)
      const { address, token_hash: tokenHash } = row
      // Ids go on from the former mailbox's: a client's since_id stays true, also when the clock stepped back.
      const keyId = row.key_id ?? undefined
      const accountId = row.account_id ?? undefined
      const session = { address, tokenHash, keyId, accountId, createdAt: now, expiresAt }
      return add(session, row.last_id)
    },

    endSession({ mailbox, now }: EndSession, touch: Touch): boolean {
      const row = byId.get(mailbox)
      if (!row?.token_hash || !isLive(spanOf(row), now)) return false
      end.run(now.getTime(), mailbox)
      touch(mailbox)
      return true
    },
  }
}

function sessionInsert(db: Db, random: () => number) {
  const newest = db.prepare<[], number | null>('select max(id) from session').pluck()
  const insert = db.prepare<unknown[], SessionRow>(
    `insert into session (id, address, token_hash, key_id, account_id, created_at, expires_at, last_id)
     values (?, ?, ?, ?, ?, ?, ?, ?) returning *`,
  )
  const remember = db.prepare('insert or ignore into address_ledger (hash) values (?)')

  return (session: Omit<NewSession, 'cooldownMs'>, lastId = 0): Session | undefined => {
    const { address, tokenHash, keyId = null, accountId = null, createdAt, expiresAt } = session
    const id = nextId(newest.get() ?? 0, createdAt, random())
    const [created, expires] = [createdAt.getTime(), expiresAt.getTime()]
    const row = insert.get(id, address, tokenHash, keyId, accountId, created, expires, lastId)
    remember.run(secretHash(address))
    return row && sessionOf(row)
  }
}

export interface ExtendSession {
  mailbox: MailboxId
  expiresAt: Date
  now: Date
}

export interface EndSession {
  mailbox: MailboxId
  now: Date
}

function spanOf(row: SessionRow): { expiresAt: Date } {
  return { expiresAt: new Date(row.expires_at) }
}

function sessionOf(row: SessionRow): Session {
  return {
    id: row.id,
    // Found by token or just made: such a row has its address.
    address: row.address as Address,
    keyId: row.key_id ?? undefined,
    accountId: row.account_id ?? undefined,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    // Both only rise, so no two states have the same sum.
    version: row.version + row.codes,
    lastId: row.last_id,
    count: row.count,
    bytes: row.bytes,
  }
}
