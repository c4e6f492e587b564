import { openLru } from '../../core/lru.ts'
import type { MailboxId, Session } from '../../core/session.ts'

// Mailboxes share counters by hash. A shared counter costs a needless read, never a stale result.
const SLOTS = 65_536
const MAX_CACHED = 20_000

/**
 * A command of the operator writes beside the service and cannot advance its counters. So no cached row is older than this,
 * and such a command returns only when this time has passed since its last write.
 */
export const SESSION_CACHE_MS = 1_000

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

/** Sessions by token, read again when their counter has changed. Unknown tokens are not cached. */
export function cachedSessions(
  find: (tokenHash: string) => Session | undefined,
  versions: Versions,
): (tokenHash: string) => Session | undefined {
  const cache = openLru<string, { session: Session; counter: number; readAt: number }>(MAX_CACHED)

  return (tokenHash) => {
    const now = performance.now()
    const cached = cache.get(tokenHash)
    const isRecent = cached && now - cached.readAt < SESSION_CACHE_MS
    if (isRecent && versions.read(cached.session.id) === cached.counter) return cached.session
    // The counter must be read before the row, but is found by the row's id: an unknown session is read twice.
    const id = cached?.session.id ?? find(tokenHash)?.id
    if (id === undefined) return undefined
    const counter = versions.read(id)
    const session = find(tokenHash)
    if (session?.id === id) cache.set(tokenHash, { session, counter, readAt: now })
    else cache.delete(tokenHash)
    return session
  }
}
