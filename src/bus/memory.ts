import type { MailboxId } from '../core/session.ts'
import type { Bus } from './bus.ts'

/** The bus of one node: every thread that opens the same name hears the others. */
export function openMemoryBus(name: string): Bus {
  const waiting = new Map<MailboxId, Set<() => void>>()
  const channel = new BroadcastChannel(name)
  let news: MailboxId[] = []
  let telling: NodeJS.Immediate | undefined

  channel.onmessage = (event) => {
    for (const mailbox of (event as { data: MailboxId[] }).data) callAll(mailbox)
  }

  function callAll(mailbox: MailboxId): void {
    for (const changed of [...(waiting.get(mailbox) ?? [])]) changed()
  }

  // Under load one message to the other threads carries the news of a whole turn of the event loop.
  function tell(): void {
    const mailboxes = news
    news = []
    channel.postMessage(mailboxes)
    for (const mailbox of mailboxes) callAll(mailbox)
  }

  return {
    wake(mailbox) {
      if (news.length === 0) telling = setImmediate(tell)
      news.push(mailbox)
    },
    subscribe(mailbox, changed) {
      const there = waiting.get(mailbox) ?? new Set()
      waiting.set(mailbox, there.add(changed))
      return () => {
        there.delete(changed)
        if (there.size === 0 && waiting.get(mailbox) === there) waiting.delete(mailbox)
      }
    },
    async close() {
      clearImmediate(telling)
      channel.close()
    },
  }
}
