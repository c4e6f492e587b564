import type { Address } from '../core/address.ts'
import type { AccountHealth, FolderState } from '../core/gmail.ts'
import type { Log } from '../core/log.ts'
import type { FetchedRecipient, Recipient } from '../core/recipient.ts'

/** What this door asks of the house, for one account. */
export interface ImapNeeds {
  /** Which of these addresses are live aliases of this account, exactly as written. */
  aliases(addresses: readonly Address[]): Promise<Recipient[]>
  /**
   * Keeps the mail once for those who do not have it yet, notes where it came from, and moves the folder on, in one
   * commit; then wakes who waits. kept: for one of them at least; known: all of them had it.
   */
  receive(mail: Fetched): Promise<'kept' | 'known' | 'nobody' | 'full'>
  /** Where fetching stands; undefined before the first look. */
  folder(name: string): Promise<FolderState | undefined>
  /** Moves on past mail that is for nobody here. */
  passed(name: string, state: FolderState): Promise<void>
  /** From when on mail could be for an alias that lives; undefined: there is none. */
  oldestAlias(): Promise<Date | undefined>
  /** Tells how the account is. */
  report(health: AccountHealth, reason: string): Promise<void>
  /** Calls back when somebody asks for a look now, until the returned function is called. */
  onLook(look: () => void): () => void
  now(): Date
  /** From 0 to 1: for pauses that do not all end at once. */
  random(): number
  log: Log
}

/** One mail of an account, for at least one alias. */
export interface Fetched {
  folder: string
  uid: number
  state: FolderState
  recipients: FetchedRecipient[]
  raw: Uint8Array
  /** INTERNALDATE */
  receivedAt: Date
}
