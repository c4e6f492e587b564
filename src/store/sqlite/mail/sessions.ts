import { nextId } from '../../../base/id.ts'
import { assignedLedger, LEDGER_COLUMNS, type LedgerRow } from '../../../mail/ledger-store.ts'
import type { LedgerHmac } from '../../../mail/rules/ledger.ts'
import { isAddressReserved, type MailboxId, type Session } from '../../../mail/rules/session.ts'
import type { NewSession, Revival } from '../../../mail/store.ts'
import {
  isExtendable,
  revivedSession,
  ruleValues,
  type SessionRow,
  sessionOf,
  spanOf,
} from '../../../mail/store-rows.ts'
import { NO_RULES } from '../../../shared/address-rules.ts'
import type { Db } from '../files.ts'
import type { Touch } from '../group-commit.ts'

/** A session that is live at $1. */
export const LIVE = 'token_hash is not null and expires_at > $1'

export function sessionReads(db: Db) {
  const byToken = db.prepare<[string], SessionRow>('select * from session where token_hash = ?')

  return {
    findSession(tokenHash: string): Session | undefined {
      const row = byToken.get(tokenHash)
      return row && sessionOf(row)
    },
  }
}

export function sessionWrites(db: Db, hmac: LedgerHmac, random: () => number, touch: Touch) {
  const byId = db.prepare<[number], SessionRow>('select * from session where id = ?')
  const byAddress = db.prepare<[string], SessionRow>('select * from session where address = ?')
  const releaseAddress = db.prepare(
    'update session set address = null, token_hash = null, cleared = 0 where id = ?',
  )
  const extend = db.prepare('update session set expires_at = ?, version = version + 1 where id = ?')
  const end = db.prepare(
    `update session set expires_at = @now, token_hash = null, version = version + 1
     where id = @mailbox and token_hash is not null and expires_at > @now`,
  )

  const ledger = db.prepare<[], LedgerRow>(`select ${LEDGER_COLUMNS} from ledger_state`)
  const add = sessionInsert(db, hmac, random)

  return {
    createSession({ cooldownMs, isRandom = false, ...session }: NewSession): Session | undefined {
      const holder = byAddress.get(session.address)
      if (holder) {
        if (isAddressReserved(spanOf(holder), session.createdAt, cooldownMs)) return undefined
        releaseAddress.run(holder.id)
        touch(holder.id)
      } else if (!isRandom && assignedLedger(ledger.get()).unknownUntil) {
        return undefined
      }
      return add(session)
    },

    extendSession(mailbox: MailboxId, expiresAt: Date, now: Date): Session | undefined {
      const row = byId.get(mailbox)
      if (!row || !isExtendable(row, now)) return undefined
      extend.run(expiresAt.getTime(), mailbox)
      touch(mailbox)
      return sessionOf({ ...row, expires_at: expiresAt.getTime(), version: row.version + 1 })
    },

    /** The old row loses its address and keeps mail that is not swept yet; the owner gets a new, empty mailbox. */
    reviveSession(revival: Revival): Session | undefined {
      const row = byId.get(revival.mailbox)
      const session = row && revivedSession(row, revival)
      if (!session) return undefined
      releaseAddress.run(row.id)
      touch(row.id)
      // Ids continue from the old mailbox, so that a client's since_id stays valid even if the clock has stepped back.
      return add(session, row.last_id)
    },

    endSession(mailbox: MailboxId, now: Date): boolean {
      if (end.run({ mailbox, now: now.getTime() }).changes === 0) return false
      touch(mailbox)
      return true
    },
  }
}

function sessionInsert(db: Db, hmac: LedgerHmac, random: () => number) {
  const newest = db.prepare<[], number | null>('select max(id) from session').pluck()
  const insert = db.prepare<unknown[], SessionRow>(
    `insert into session (id, address, token_hash, key_id, account_id, created_at, expires_at,
       last_id, only_from, max_messages)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning *`,
  )
  const remember = db.prepare('insert or ignore into address_ledger (hmac) values (?)')

  return (
    session: Omit<NewSession, 'cooldownMs' | 'isRandom'>,
    lastId = 0,
  ): Session | undefined => {
    const { address, tokenHash, keyId = null, accountId = null, createdAt, expiresAt } = session
    const id = nextId(newest.get() ?? 0, createdAt, random())
    const [created, expires] = [createdAt.getTime(), expiresAt.getTime()]
    const [onlyFrom, maxMessages] = ruleValues(session.rules ?? NO_RULES)
    const row = insert.get(
      id,
      address,
      tokenHash,
      keyId,
      accountId,
      created,
      expires,
      lastId,
      onlyFrom,
      maxMessages,
    )
    remember.run(hmac.of(address))
    return row && sessionOf(row)
  }
}
