import { join } from 'node:path'
import { diskSpace } from '../../base/disk-space.ts'
import { namesOf } from '../../base/operation.ts'
import { throttled } from '../../base/throttled.ts'
import { openLedgerHmac } from '../../mail/rules/ledger.ts'
import type { ReceiveLimits } from '../../mail/rules/recipient.ts'
import type { MailboxId } from '../../mail/rules/session.ts'
import type { StoreFault, SweepOptions } from '../../mail/store.ts'
import { sweepSteps } from '../../mail/sweep-store.ts'
import { compress } from '../compression.ts'
import { mailReads, mailTransactions, mailWrites, resolvedMail } from '../operations.ts'
import type { Store } from '../store.ts'
import { type Db, MAIL_FILE, openReader } from './files.ts'
import {
  groupCommit,
  readMethods,
  type Write,
  type WritesOf,
  writeMethods,
} from './group-commit.ts'
import { addMailWrites, mailInsert } from './mail/add-mail.ts'
import { leaseWrites } from './mail/leases.ts'
import { rawMailReads, rawMailWrites } from './mail/raw-mail.ts'
import { recipientReads } from './mail/recipients.ts'
import { resolvedWrites } from './mail/resolved-mail.ts'
import { sessionReads, sqliteSessionWrites } from './mail/sessions.ts'
import { cachedByMailbox, type Versions } from './mailbox-cache.ts'
import { operationRunner, syncMethods } from './operations.ts'

/** A trigger of mail.db does it. */
function* releaseRaws() {}

const SHARED_WRITES = { ...mailWrites, ...mailTransactions(releaseRaws) }

/** Methods that the mail writer runs. */
const MAIL_WRITES = [
  ...namesOf(SHARED_WRITES),
  ...namesOf(resolvedMail),
  'createSession',
  'extendSession',
  'reviveSession',
  'addMail',
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

export function sqliteMailWrites(
  db: Db,
  { limits, ledgerKey, random = Math.random }: WriterOptions,
) {
  const hmac = openLedgerHmac(ledgerKey)
  const insertMail = mailInsert(db, random)
  const run = operationRunner(db)
  return {
    ...syncMethods(db, SHARED_WRITES),
    ...sqliteSessionWrites(db, hmac, random),
    ...addMailWrites(db, { limits, hmac }, insertMail),
    ...rawMailWrites(db),
    ...resolvedWrites(db, limits, insertMail),
    ...leaseWrites(),
    sweep(options: SweepOptions): boolean {
      const steps = sweepSteps(options, { hmac, releaseRaws })
      const hasMore = steps.map((step) => run(step)).includes(true)
      return releasePages(db) || hasMore
    },
  } satisfies WritesOf<Store, MailWrite>
}

const PAGES_PER_STEP = 64
// 32 MB are left for new mail: releasing a page costs about as much as deleting a message (bench/README.md).
const KEPT_FREE_PAGES = 8_192

/** Returns free pages to the file system. True if there are more of them. */
function releasePages(db: Db): boolean {
  const surplus = Number(db.pragma('freelist_count', { simple: true })) - KEPT_FREE_PAGES
  if (surplus > 0) db.pragma(`incremental_vacuum(${PAGES_PER_STEP})`)
  return surplus > PAGES_PER_STEP
}

/** Commits groups of writes to mail.db. */
export function openMailWriter(db: Db, versions: Versions, options: WriterOptions) {
  const touched = touchedSessions(db)
  return groupCommit(db, sqliteMailWrites(db, options), {
    committed() {
      for (const session of touched) versions.add(session)
      touched.clear()
    },
  })
}

/** Collects the sessions that this connection changes. By triggers, so that no write can forget it. */
function touchedSessions(db: Db): Set<MailboxId> {
  const touched = new Set<MailboxId>()
  db.function('touch', (session: MailboxId) => void touched.add(session))
  for (const change of ['update', 'delete']) {
    db.exec(`create temp trigger touch_on_${change} after ${change} on main.session
      begin select touch(old.id); end`)
  }
  return touched
}

interface SqliteMailOptions {
  folder: string
  minFreeBytes: number | 'auto'
  /** Largest size of mail.db; auto: limited by the disk only. */
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

  const { findRecipient } = recipientReads(db, openLedgerHmac(ledgerKey))
  const { findSession } = syncMethods(db, sessionReads)

  return {
    ...writeMethods<Store, MailWrite>(MAIL_WRITES, write),
    ...readMethods({
      ...syncMethods(db, mailReads({ rawMail: RAW_MAIL, usedBytes: USED_BYTES, limits })),
      ...rawMailReads(db),
      findSession: cachedByMailbox(findSession, (found) => found?.id, versions),
      close: () => void db.close(),
    }),
    // The share of a sender does not matter to a session. At the domain of a key holder, more than the mailbox decides.
    findRecipient: cachedByMailbox(
      findRecipient,
      ({ session, own }) => (own ? undefined : session?.id),
      versions,
    ),
    storageFault: readFault,
    clampTime: (now) => now,
    async saveParsed(rawId, mail) {
      await write('saveParsed', [rawId, compress(JSON.stringify(mail))])
    },
  }
}

const RAW_MAIL = 'raw_mail.id = message.raw_id'
const USED_BYTES = `select (pages.page_count - free.freelist_count) * size.page_size as bytes
  from pragma_page_count as pages, pragma_freelist_count as free, pragma_page_size as size`

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
