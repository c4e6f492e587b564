import type { Address } from '../base/address.ts'
import type { Block, BlockChange, BlockEntry } from '../blocks/rules.ts'
import type { CheckRun } from '../doctor/rules/result.ts'
import type { MailboxId, Session } from '../mail/rules/session.ts'

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

  /** Live blocks, last changed first. */
  listBlocks(query: BlockQuery): Promise<Block[]>
  countBlocks(now: Date): Promise<number>
  /** Adds blocks, and replaces note and end of existing ones, in one commit: pass few at a time. Returns how many are new. */
  addBlocks(blocks: NewBlocks): Promise<number>
  /** Returns how many were removed. */
  removeBlocks(entries: readonly BlockEntry[], now: Date): Promise<number>
  /** The number of the last change, 0 before the first. All changes up to it are visible. */
  lastBlockChange(): Promise<number>
  /** Changes after this number, by ascending number. From 0: all blocks, and those that expired lately. */
  readBlockChanges(after: number, limit: number): Promise<BlockChange[]>

  /** The last daily run of the checks; undefined before the first. */
  readCheckRun(): Promise<CheckRun | undefined>
  saveCheckRun(run: CheckRun): Promise<void>
}

export interface BlockQuery {
  now: Date
  limit: number
  /** Only blocks with a smaller number. */
  before?: number | undefined
  /** Only entries that contain this text, in lower case. */
  text?: string | undefined
}

export interface NewBlocks {
  /** Without duplicates. */
  entries: readonly BlockEntry[]
  note: string
  expiresAt: Date | undefined
  now: Date
}

export interface SessionQuery {
  order: 'newest' | 'largest'
  limit: number
  now: Date
  /** The last session of the previous page. */
  before?: Pick<Session, 'id' | 'bytes'> | undefined
}

export interface Volume {
  messages: number
  bytes: number
}

export interface MailScan {
  /** In canonical form, see base/ip.ts. */
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
