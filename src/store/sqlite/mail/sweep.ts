import { ENDED_BLOCK_MS, ENDED_BLOCKS_PER_STEP } from '../../../blocks/store.ts'
import { endUnknownLedger, pruneLedger } from '../../../mail/ledger-store.ts'
import type { LedgerHmac } from '../../../mail/rules/ledger.ts'
import { type MailboxId, OPERATOR, POOL } from '../../../mail/rules/session.ts'
import type { SweepOptions } from '../../../mail/store.ts'
import type { Db } from '../files.ts'
import type { Touch } from '../group-commit.ts'
import { operationRunner } from '../operations.ts'
import { messageDeletion, type StoredMessageRow } from './messages.ts'

// Mail waits behind a step: about 3 ms, but 10 if the expired mail has to be read from the disk.
const MESSAGES_PER_STEP = 100
const SESSIONS_PER_STEP = 200
const PAGES_PER_STEP = 64
// 32 MB are left for new mail: releasing a page costs about as much as deleting a message (bench/README.md).
const KEPT_FREE_PAGES = 8_192

// Reads check the expiry themselves; the sweep waits, so that it does not race with mail or extensions in flight.
const GRACE_MS = 60_000

interface DueSession {
  id: MailboxId
  address: string | null
}

export function sweepWrites(db: Db, hmac: LedgerHmac, touch: Touch) {
  const findUncleared = db.prepare<[number, number], DueSession>(
    'select id, address from session where cleared = 0 and expires_at <= ? limit ?',
  )
  const findUnreserved = db.prepare<[number, number], DueSession>(
    'select id, address from session where cleared = 1 and expires_at <= ? limit ?',
  )
  const cleared = db.prepare('update session set cleared = 1 where id = ?')
  const drop = db.prepare('delete from session where id = ?')
  const free = db.prepare<[], number>('pragma freelist_count').pluck()
  const endBlocks = db.prepare<{ until: number }>(
    `delete from block_entry where entry in (select entry from block_entry
       where expires_at < :until and created_at < :until limit ${ENDED_BLOCKS_PER_STEP})`,
  )
  const empty = expiredDeletion(db)
  const run = operationRunner(db)

  function endSessions(
    sessions: DueSession[],
    allowance: number,
    finish: (session: DueSession) => void,
  ): number {
    let left = allowance
    for (const session of sessions) {
      left = empty(session.id, left, Number.MAX_SAFE_INTEGER)
      if (left === 0) return 0
      finish(session)
    }
    return left
  }

  return {
    /** One small step; true if there may be more to do. */
    sweep({ now, cooldownMs, poolMs, operatorMs, poolOff }: SweepOptions): boolean {
      const time = now.getTime()
      const ended = findUncleared.all(time - GRACE_MS, SESSIONS_PER_STEP)
      let left = endSessions(ended, MESSAGES_PER_STEP, ({ id, address }) => {
        if (address === null) drop.run(id)
        else cleared.run(id)
        touch(id)
      })
      const unreserved = findUnreserved.all(time - cooldownMs, SESSIONS_PER_STEP)
      if (left > 0) {
        left = endSessions(unreserved, left, ({ id }) => {
          drop.run(id)
          touch(id)
        })
      }
      for (const [mailbox, retentionMs] of [
        [POOL, poolMs],
        [OPERATOR, operatorMs],
      ] as const) {
        const before = left
        if (left > 0) left = empty(mailbox, left, time - retentionMs)
        if (left < before) touch(mailbox)
      }
      const blocks = endBlocks.run({ until: time - ENDED_BLOCK_MS }).changes
      run(endUnknownLedger(now))
      const moreEntries = poolOff === true && run(pruneLedger(hmac))
      const surplusPages = (free.get() ?? 0) - KEPT_FREE_PAGES
      if (surplusPages > 0) db.pragma(`incremental_vacuum(${PAGES_PER_STEP})`)
      return (
        left === 0 ||
        moreEntries ||
        blocks >= ENDED_BLOCKS_PER_STEP ||
        ended.length + unreserved.length >= SESSIONS_PER_STEP ||
        surplusPages > PAGES_PER_STEP
      )
    },
  }
}

/** Deletes up to `most` messages that are due; returns what is left of the allowance. */
function expiredDeletion(db: Db) {
  const oldest = db.prepare<[number, number], StoredMessageRow>(
    'select * from message where mailbox = ? order by id limit +?',
  )
  const swept = db.prepare('update shared_mailbox set swept_id = max(swept_id, ?) where id = ?')
  const removeMessage = messageDeletion(db)

  return (mailbox: MailboxId, most: number, dueBefore: number): number => {
    const due = oldest.all(mailbox, most).filter((row) => row.received_at <= dueBefore)
    for (const row of due) removeMessage(row)
    const last = due.at(-1)
    if (last && mailbox === POOL) swept.run(last.id, mailbox)
    return most - due.length
  }
}
