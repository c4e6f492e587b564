import type { MailboxId } from '../../core/session.ts'

// Mailboxes share counters by hash; a shared one costs a needless look, never a stale answer.
const SLOTS = 65_536

export function makeVersions(): SharedArrayBuffer {
  return new SharedArrayBuffer(SLOTS * Int32Array.BYTES_PER_ELEMENT)
}

/**
 * Counters that every thread sees. The writer adds after COMMIT and before any reply; a reader loads the counter before
 * its query and trusts what it remembered only while the counter is equal. So no thread answers with an older row.
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
