import type { Address } from '../core/address.ts'
import type { MailboxId, Session } from '../core/session.ts'

/** For the operator's commands. No method returns a token or mail. */
export interface OperatorStore {
  /** Live sessions, newest or largest first. */
  listSessions(query: SessionQuery): Promise<Session[]>
  /** The live session of this address, which may be an alias. */
  findSessionByAddress(address: Address, now: Date): Promise<Session | undefined>
  /** The number of messages in all mailboxes, by their counters. */
  countMail(): Promise<number>
  /** Scans one page of all messages, in an order of the engine, for those delivered by this client. */
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
  /** In canonical form, see core/ip.ts. */
  clientIp: string
  /** The end of the previous page; undefined: from the start. */
  after: ScanPosition | undefined
  limit: number
}

/** Of a message. A scan sees every message that exists during all of it. */
export interface ScanPosition {
  /** 0 on SQLite. */
  partition: number
  mailbox: MailboxId
  id: number
}

export interface ScannedPage {
  found: FoundMessage[]
  /** The number of messages examined. */
  scanned: number
  /** Undefined at the end. */
  next: ScanPosition | undefined
}

export interface FoundMessage {
  mailbox: MailboxId
  id: number
  size: number
}
