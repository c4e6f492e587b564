import type { Topic } from '../mail/rules/session.ts'

/** Notifies subscribers that a mailbox changed. It carries no content: subscribers read the store. */
export interface Bus {
  /** Returns at once; subscribers on all threads and nodes are called shortly after. */
  wake(topic: Topic): void
  /** Calls back on every change until the returned function is called. Subscribe first, then read, then wait. */
  subscribe(topic: Topic, changed: () => void): () => void
  close(): Promise<void>
}
