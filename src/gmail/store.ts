import type { Address } from '../base/address.ts'
import type { FetchedRecipient, Recipient } from '../mail/rules/recipient.ts'
import type { NewMail, StoredRecipient } from '../mail/store.ts'
import type { AccountHealth, DeferredMail, FolderState, GmailAccount } from './rules.ts'

/** Gmail accounts, and the mail that is fetched from them. */
export interface AccountStore {
  /** All Gmail accounts, including inactive ones, by id. */
  listAccounts(now: Date): Promise<GmailAccount[]>
  /** Adds an account; an existing one is unchanged and keeps its id. */
  addAccount(email: Address): Promise<void>
  /** False if there is no such account. */
  setAccountActive(accountId: number, active: boolean): Promise<boolean>
  setAccountHealth(accountId: number, health: AccountHealth, reason: string): Promise<void>
  /** Those of the addresses that are aliases of live sessions of this account, exactly as issued. */
  findAliases(accountId: number, addresses: readonly Address[], now: Date): Promise<Recipient[]>
  /** When the oldest live session of the account was created. */
  oldestAlias(accountId: number, now: Date): Promise<Date | undefined>
  /** How far a folder has been fetched; undefined before the first fetch. */
  readFolder(accountId: number, folder: string): Promise<FolderState | undefined>
  saveFolder(accountId: number, folder: string, state: FolderState): Promise<void>
  /**
   * Stores fetched mail for recipients that do not have it yet, defers it for those whose mailbox is full, and saves the folder
   * state, in one commit. This replaces an earlier deferral of the same mail.
   */
  addFetchedMail(mail: NewFetchedMail): Promise<AddFetchedMailResult>
  /** Deferred mail that can be delivered, because an alias has room, or dropped, because all of its aliases have ended. By ascending UID. */
  listDeferred(query: DeferredQuery): Promise<DeferredMail[]>
  /** Deletes deferred mail by UID, and all of the folder with another UIDVALIDITY. */
  deleteDeferred(place: DeferredKey): Promise<void>
}

/** Mail fetched from an account, for its aliases. */
export interface NewFetchedMail extends NewMail {
  recipients: FetchedRecipient[]
  accountId: number
  folder: string
  uid: number
  state: FolderState
  /** The mail itself may be older. */
  now: Date
}

/** known: all recipients have it already; full: deferred for all of them; refused: the rules of all of them refuse it. */
export type AddFetchedMailResult =
  | { outcome: 'stored'; recipients: StoredRecipient[]; deferred: boolean }
  | { outcome: 'known' | 'no_recipients' | 'full' | 'refused' }

export interface DeferredKey {
  accountId: number
  folder: string
  uidValidity: number
  uids: readonly number[]
}

export interface DeferredQuery extends Omit<DeferredKey, 'uids'> {
  now: Date
  limit: number
}
