import type { MailboxId } from '../core/session.ts'

/** Tells whoever waits that a mailbox changed. It carries no news itself: who is woken reads the store. */
export interface Bus {
  /** Returns at once; those who wait on any thread or node are called soon after. */
  wake(mailbox: MailboxId): void
  /** Calls back on every change until the returned function is called. Subscribe, then read, then wait. */
  subscribe(mailbox: MailboxId, changed: () => void): () => void
  close(): Promise<void>
}
