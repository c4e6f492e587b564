import type { Topic } from '../mail/rules/session.ts'
import type { Bus } from './bus.ts'

// Topics are hashed to slots; a collision costs a needless message, never a lost one.
const SLOTS = 65_536

export function makeWaiterCounts(): SharedArrayBuffer {
  return new SharedArrayBuffer(SLOTS * Int32Array.BYTES_PER_ELEMENT)
}

export interface MemoryBus extends Bus {
  /** The topics that have subscribers in this thread. */
  topics(): Topic[]
  /** Calls the subscribers in this thread, now. */
  notify(topics: readonly Topic[]): void
}

/**
 * The bus of one node, over all threads that open the same name. Subscribers are counted in shared memory, so that a mail
 * nobody waits for costs no message. A subscriber is counted before it reads, and mail is committed before the count is read:
 * one of the two sees the other.
 */
export function openMemoryBus(name: string, shared: SharedArrayBuffer): MemoryBus {
  const waiters = new Int32Array(shared)
  const slot = (topic: Topic) => topic % SLOTS
  const listeners = new Map<Topic, Set<() => void>>()
  const channel = new BroadcastChannel(name)
  let pending: Topic[] = []
  let flushTimer: NodeJS.Immediate | undefined

  channel.onmessage = (event) => {
    notify((event as { data: Topic[] }).data)
  }

  function notify(topics: readonly Topic[]): void {
    for (const topic of topics) {
      for (const changed of [...(listeners.get(topic) ?? [])]) changed()
    }
  }

  // One message to the other threads per turn of the event loop.
  function flush(): void {
    const topics = pending
    pending = []
    channel.postMessage(topics)
    notify(topics)
  }

  return {
    topics: () => [...listeners.keys()],
    notify,
    wake(topic) {
      if (Atomics.load(waiters, slot(topic)) === 0) return
      if (pending.length === 0) flushTimer = setImmediate(flush)
      pending.push(topic)
    },
    subscribe(topic, changed) {
      const there = listeners.get(topic) ?? new Set()
      listeners.set(topic, there.add(changed))
      Atomics.add(waiters, slot(topic), 1)
      return () => {
        if (there.delete(changed)) Atomics.sub(waiters, slot(topic), 1)
        if (there.size === 0 && listeners.get(topic) === there) listeners.delete(topic)
      }
    },
    async close() {
      clearImmediate(flushTimer)
      listeners.clear()
      channel.close()
    },
  }
}
