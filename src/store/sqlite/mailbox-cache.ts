import { openLru } from '../../base/lru.ts'
import type { MailboxId } from '../../mail/rules/session.ts'

// Mailboxes share counters by hash. A shared counter costs a needless read, never a stale result.
const SLOTS = 65_536
const MAX_CACHED = 20_000
// Rows are trusted for a second only.
const IDLE_MS = 10_000

/**
 * A command of the operator writes beside the service and cannot advance its counters. So no cached row is older than this,
 * and such a command returns only when this time has passed since its last write.
 */
export const MAILBOX_CACHE_MS = 1_000

export function makeVersions(): SharedArrayBuffer {
  return new SharedArrayBuffer(SLOTS * Int32Array.BYTES_PER_ELEMENT)
}

/**
 * Counters shared by all threads. The writer increments after COMMIT and before any reply; a thread loads the counter before
 * its query and trusts the cached row only while the counter is equal. So no thread returns an older row.
 */
export function openVersions(shared: SharedArrayBuffer) {
  const counters = new Int32Array(shared)
  const slot = (mailbox: MailboxId) => mailbox % SLOTS
  return {
    read: (mailbox: MailboxId): number => Atomics.load(counters, slot(mailbox)),
    add(mailbox: MailboxId): void {
      Atomics.add(counters, slot(mailbox), 1)
    },
  }
}

export type Versions = ReturnType<typeof openVersions>

/**
 * Caches what is read about a mailbox, and reads it again when its counter has changed. The counter must be read before the
 * row, but is found by the mailbox: so the first read only learns the mailbox, and the second is cached. What belongs to no
 * mailbox is not cached.
 */
export function cachedByMailbox<Key, Row, Rest extends unknown[]>(
  read: (key: Key, ...rest: Rest) => Row,
  mailboxOf: (row: Row) => MailboxId | undefined,
  versions: Versions,
): (key: Key, ...rest: Rest) => Row {
  const cache = openLru<Key, { mailbox: MailboxId; row?: Row; counter: number; readAt: number }>(
    MAX_CACHED,
    { idleMs: IDLE_MS },
  )

  return (key, ...rest) => {
    const cached = cache.get(key)
    const counter = cached ? versions.read(cached.mailbox) : 0
    const now = performance.now()
    if (cached?.row && cached.counter === counter && now - cached.readAt < MAILBOX_CACHE_MS)
      return cached.row
    const row = read(key, ...rest)
    const mailbox = mailboxOf(row)
    if (mailbox === undefined) cache.delete(key)
    else if (cached?.mailbox === mailbox) cache.set(key, { mailbox, row, counter, readAt: now })
    else cache.set(key, { mailbox, counter, readAt: now })
    return row
  }
}
