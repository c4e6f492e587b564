import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { levelReads, seriesReads, seriesTransactions } from '../../admin/series/store.ts'
import { namesOf } from '../../base/operation.ts'
import { blockReads, blockTransactions } from '../../blocks/store.ts'
import { checkRunReads, checkRunWrites } from '../../doctor/store.ts'
import { accountReads, accountWrites } from '../../gmail/account-store.ts'
import { deferredWrites, fetchReads } from '../../gmail/fetched-mail-store.ts'
import { domainReads, domainWrites } from '../../mail/domain-store.ts'
import { ledgerReads, ledgerWrites } from '../../mail/ledger-store.ts'
import { operatorReads } from '../../mail/operator-store.ts'
import { openLedgerHmac } from '../../mail/rules/ledger.ts'
import type { ReceiveLimits } from '../../mail/rules/recipient.ts'
import type { StoreFault } from '../../mail/store.ts'
import { compress } from '../compression.ts'
import type { Store } from '../store.ts'
import { throttled } from '../throttled.ts'
import { type Db, MAIL_FILE, openReader } from './files.ts'
import {
  groupCommit,
  readMethods,
  type Touch,
  type Write,
  type WritesOf,
  writeMethods,
} from './group-commit.ts'
import { addMailWrites, mailInsert } from './mail/add-mail.ts'
import { fetchWrites } from './mail/fetched-mail.ts'
import { keyMailReads } from './mail/key-mail.ts'
import { leaseWrites } from './mail/leases.ts'
import { messageReads, messageWrites } from './mail/messages.ts'
import { rawMailReads, rawMailWrites } from './mail/raw-mail.ts'
import { recipientReads } from './mail/recipients.ts'
import { LIVE, sessionReads, sessionWrites } from './mail/sessions.ts'
import { sweepWrites } from './mail/sweep.ts'
import { cachedByMailbox, type Versions } from './mailbox-cache.ts'
import { syncMethods } from './operations.ts'

const SHARED_WRITES = {
  ...domainWrites,
  ...accountWrites,
  ...deferredWrites,
  ...seriesTransactions,
  ...blockTransactions,
  ...checkRunWrites,
  ...ledgerWrites,
}

/** Methods that the mail writer runs. */
const MAIL_WRITES = [
  ...namesOf(SHARED_WRITES),
  'addFetchedMail',
  'createSession',
  'extendSession',
  'reviveSession',
  'endSession',
  'addMail',
  'deleteMessage',
  'deleteMessages',
  'saveScan',
  'saveSenderChecks',
  'acquireLease',
  'releaseLease',
  'sweep',
] as const satisfies (keyof Store)[]

type MailWrite = (typeof MAIL_WRITES)[number]

interface WriterOptions {
  limits: ReceiveLimits
  ledgerKey: Uint8Array
  random?: () => number
}

export function mailWrites(
  db: Db,
  { limits, ledgerKey, random = Math.random }: WriterOptions,
  touch: Touch,
) {
  const hmac = openLedgerHmac(ledgerKey)
  const insertMail = mailInsert(db, random, touch)
  return {
    ...syncMethods(db, SHARED_WRITES),
    ...sessionWrites(db, hmac, random, touch),
    ...addMailWrites(db, { limits, hmac }, insertMail),
    ...rawMailWrites(db),
    ...fetchWrites(db, limits, insertMail),
    ...messageWrites(db, touch),
    ...leaseWrites(),
    ...sweepWrites(db, hmac, touch),
  } satisfies WritesOf<Store, MailWrite>
}

/** Commits groups of writes to mail.db. */
export function openMailWriter(db: Db, versions: Versions, options: WriterOptions) {
  return groupCommit(db, (touch) => mailWrites(db, options, touch), versions.add)
}

interface SqliteMailOptions {
  folder: string
  minFreeBytes: number | 'auto'
  /** Of mail.db; auto: limited by the disk only. */
  maxBytes?: number | 'auto'
  write: Write
  versions: Versions
  limits: ReceiveLimits
  ledgerKey: Uint8Array
}

// It is checked for every mail, and no disk fills up from above the limit within this time.
const FAULT_CACHE_MS = 200

/** The mail store of one thread: a read-only connection of its own, and access to the writer. */
export function openSqliteMail({
  folder,
  minFreeBytes,
  maxBytes = 'auto',
  write,
  versions,
  limits,
  ledgerKey,
}: SqliteMailOptions): Store {
  const db = openReader(join(folder, MAIL_FILE))
  const readFault = throttled(FAULT_CACHE_MS, (): StoreFault | undefined => {
    const reason = lowDisk(folder, minFreeBytes) ?? lowFile(db, maxBytes)
    return reason === undefined ? undefined : { kind: 'full', reason }
  })

  const { findRecipient, readSharedMailbox } = recipientReads(db, openLedgerHmac(ledgerKey))

  return {
    ...writeMethods<Store, MailWrite>(MAIL_WRITES, write),
    ...readMethods({
      ...syncMethods(db, {
        ...domainReads,
        ...accountReads(LIVE),
        ...fetchReads(LIVE, limits),
        ...operatorReads(LIVE),
        ...seriesReads,
        ...levelReads(USED_BYTES),
        ...blockReads,
        ...checkRunReads,
        ...ledgerReads,
      }),
      readSharedMailbox,
      ...messageReads(db),
      ...keyMailReads(db),
      ...rawMailReads(db),
      findSession: cachedByMailbox(sessionReads(db).findSession, (found) => found?.id, versions),
      close: () => void db.close(),
    }),
    // The share of a sender does not matter to a session.
    findRecipient: cachedByMailbox(findRecipient, ({ session }) => session?.id, versions),
    storageFault: readFault,
    async saveParsed(rawId, mail) {
      await write('saveParsed', [rawId, compress(JSON.stringify(mail))])
    },
  }
}

const USED_BYTES = `select (pages.page_count - free.freelist_count) * size.page_size as bytes
  from pragma_page_count as pages, pragma_freelist_count as free, pragma_page_size as size`

const MIN_FREE_SHARE = 0.05
const MIN_FREE_BYTES = 512 * 1024 * 1024

/** Free bytes on the disk of a folder, and the limit below which mail is deferred. */
export function diskSpace(folder: string, minFreeBytes: number | 'auto') {
  const { bavail, blocks, bsize } = statfsSync(folder)
  const least =
    minFreeBytes === 'auto'
      ? Math.min(blocks * bsize * MIN_FREE_SHARE, MIN_FREE_BYTES)
      : minFreeBytes
  return { free: bavail * bsize, least }
}

function lowDisk(folder: string, minFreeBytes: number | 'auto'): string | undefined {
  const { free, least } = diskSpace(folder, minFreeBytes)
  if (free >= least) return undefined
  const mb = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`
  return `${mb(free)} of disk space are free, less than the ${mb(least)} of MAYFLY_MIN_FREE`
}

// Reserved for what must be written anyway: deletions, ends of sessions.
const RESERVED_SHARE = 0.01

/** The writer fails at the limit itself; this reports it before. Freed pages are reused. */
function lowFile(db: Db, maxBytes: number | 'auto'): string | undefined {
  if (maxBytes === 'auto') return undefined
  const [pages, freed, size] = ['page_count', 'freelist_count', 'page_size'].map((name) =>
    Number(db.pragma(name, { simple: true })),
  ) as [number, number, number]
  if ((pages - freed) * size < maxBytes * (1 - RESERVED_SHARE)) return undefined
  return 'mail.db has reached MAYFLY_MAIL_DB_MAX'
}
