import type { Address } from '../core/address.ts'
import type { MailboxId, Session } from '../core/session.ts'

/** What the operator's commands ask of the mail store. None of it returns a token or mail. */
export interface OperatorStore {
  /** Live sessions, newest or largest first. */
  listSessions(query: SessionQuery): Promise<Session[]>
  /** The live session that holds this address, also as an alias. */
  findSessionByAddress(address: Address, now: Date): Promise<Session | undefined>
  /** How many messages there are in all mailboxes, by their counters. */
  countMail(): Promise<number>
  /** One page of all messages of all mailboxes, in an order of the engine's own: those that this client delivered. */
  scanMail(scan: MailScan): Promise<ScannedPage>
}

export interface SessionQuery {
  order: 'newest' | 'largest'
  limit: number
  now: Date
}

export interface Volume {
  messages: number
  bytes: number
}

export interface MailScan {
  /** As it was recorded at intake, see core/ip.ts canonicalIp. */
  clientIp: string
  /** Where the page before ended; undefined: from the start. */
  after: ScanPosition | undefined
  limit: number
}

/** Of a message. A scan meets every message that is there from its start to its end. */
export interface ScanPosition {
  /** PostgreSQL's partition; 0 on SQLite. */
  partition: number
  mailbox: MailboxId
  id: number
}

export interface ScannedPage {
  found: FoundMessage[]
  /** How many messages were examined, found or not. */
  scanned: number
  /** Undefined at the end. */
  next: ScanPosition | undefined
}

export interface FoundMessage {
  mailbox: MailboxId
  id: number
  size: number
}
