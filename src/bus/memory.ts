import type { MailboxId } from '../core/session.ts'
import type { Bus } from './bus.ts'

// Mailboxes share slots by hash; a shared one costs a needless message, never a lost one.
const SLOTS = 65_536

export function makeWaiterCounts(): SharedArrayBuffer {
  return new SharedArrayBuffer(SLOTS * Int32Array.BYTES_PER_ELEMENT)
}

/**
 * The bus of one node: every thread that opens the same name hears the others. How many wait is counted in memory that
 * all of them see, so that a mail nobody waits for costs no message. Whoever waits is counted before it reads, and mail
 * is committed before the count is read: one of the two sees the other.
 */
export function openMemoryBus(name: string, shared: SharedArrayBuffer): Bus {
  const waiters = new Int32Array(shared)
  const slot = (mailbox: MailboxId) => mailbox % SLOTS
  const listeners = new Map<MailboxId, Set<() => void>>()
  const channel = new BroadcastChannel(name)
  let pending: MailboxId[] = []
  let flushTimer: NodeJS.Immediate | undefined

  channel.onmessage = (event) => {
    for (const mailbox of (event as { data: MailboxId[] }).data) callAll(mailbox)
  }

  function callAll(mailbox: MailboxId): void {
    for (const changed of [...(listeners.get(mailbox) ?? [])]) changed()
  }

  // Under load one message to the other threads carries the news of a whole turn of the event loop.
  function flush(): void {
    const mailboxes = pending
    pending = []
    channel.postMessage(mailboxes)
    for (const mailbox of mailboxes) callAll(mailbox)
  }

  return {
    wake(mailbox) {
      if (Atomics.load(waiters, slot(mailbox)) === 0) return
      if (pending.length === 0) flushTimer = setImmediate(flush)
      pending.push(mailbox)
    },
    subscribe(mailbox, changed) {
      const there = listeners.get(mailbox) ?? new Set()
      listeners.set(mailbox, there.add(changed))
      Atomics.add(waiters, slot(mailbox), 1)
      return () => {
        if (there.delete(changed)) Atomics.sub(waiters, slot(mailbox), 1)
        if (there.size === 0 && listeners.get(mailbox) === there) listeners.delete(mailbox)
      }
    },
    async close() {
      clearImmediate(flushTimer)
      channel.close()
    },
  }
}
