import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import type { ReceiveLimits } from '../../core/recipient.ts'
import type { Session } from '../../core/session.ts'
import type { MailStore, StoreFault } from '../store.ts'
import { type Db, MAIL_FILE, openReadOnly } from './files.ts'
import type { Write } from './group-commit.ts'
import { accountReads, accountWrites } from './mail/accounts.ts'
import { mailInsert } from './mail/add-mail.ts'
import { domainReads, domainWrites } from './mail/domains.ts'
import { deferredReads, fetchReads, fetchWrites } from './mail/fetched-mail.ts'
import { keyMailReads } from './mail/key-mail.ts'
import { leaseWrites } from './mail/leases.ts'
import { messageReads, messageWrites } from './mail/messages.ts'
import { operatorReads } from './mail/operator.ts'
import { compress, mailReads, mailWrites } from './mail/raw-mail.ts'
import { recipientReads } from './mail/recipients.ts'
import { sessionReads, sessionWrites } from './mail/sessions.ts'
import { sweepWrites } from './mail/sweep.ts'
import type { Versions } from './versions.ts'

/** Every write to mail.db, by name: what the mail writer can be asked for. */
export function allMailWrites(db: Db, limits: ReceiveLimits, random: () => number) {
  const keep = mailInsert(db, random)
  return {
    ...domainWrites(db),
    ...sessionWrites(db, random),
    ...mailWrites(db, limits, keep),
    ...accountWrites(db),
    ...fetchWrites(db, limits, keep),
    ...messageWrites(db),
    ...leaseWrites(),
    ...sweepWrites(db),
  }
}

export type MailWrites = ReturnType<typeof allMailWrites>

interface SqliteMailOptions {
  folder: string
  minFreeBytes: number | 'auto'
  /** Of mail.db; auto: as the disk allows. */
  maxBytes?: number | 'auto'
  /** Asks the one writer; resolves after the commit. */
  write: Write<MailWrites>
  versions: Versions
  limits: ReceiveLimits
}

/** The mail store as one thread sees it: a read-only connection of its own, and the way to the writer. */
export function openSqliteMail({
  folder,
  minFreeBytes,
  maxBytes = 'auto',
  write,
  versions,
  limits,
}: SqliteMailOptions): MailStore {
  const db = openReadOnly(join(folder, MAIL_FILE))
  const reads = allMailReads(db, limits)
  const obstacle = throttled(() => {
    const reason = lowDisk(folder, minFreeBytes) ?? lowFile(db, maxBytes)
    return reason === undefined ? undefined : ({ kind: 'full', reason } satisfies StoreFault)
  })
  const findSession = cachedSessions(sessionReads(db).findSession, versions)

  return {
    listDomains: async () => reads.listDomains(),
    findDomain: async (name) => reads.findDomain(name),
    addDomain: (domain) => write('addDomain', domain),
    changeDomain: (name, change) => write('changeDomain', { name, ...change }),

    ...accountStore(reads, write),

    createSession: (session) => write('createSession', session),
    findSession: async (tokenHash) => findSession(tokenHash),
    extendSession: (mailbox, expiresAt, now) => write('extendSession', { mailbox, expiresAt, now }),
    reviveSession: (revival) => write('reviveSession', revival),
    endSession: (mailbox, now) => write('endSession', { mailbox, now }),

    findRecipient: async (address, senderNetwork) => reads.findRecipient(address, senderNetwork),
    addMail: (mail) => write('addMail', mail),

    readSharedMailbox: async (mailbox) => reads.readSharedMailbox(mailbox),
    listMessages: async (mailbox, page) => reads.listMessages(mailbox, page),
    listMessageIds: async (mailbox) => reads.listMessageIds(mailbox),
    findMessage: async (mailbox, id) => reads.findMessage(mailbox, id),
    deleteMessage: (mailbox, id) => write('deleteMessage', { mailbox, id }),
    deleteMessages: (mailbox, ids) => write('deleteMessages', { mailbox, ids }),
    saveCode: (noted) => write('saveCode', noted),
    keyMailVersion: async (scope) => reads.keyMailVersion(scope),
    listKeyMail: async (scope, page) => reads.listKeyMail(scope, page),
    readRaw: async (rawId) => reads.readRaw(rawId),
    readParsed: async (rawId) => reads.readParsed(rawId),
    saveParsed: (rawId, mail) =>
      write('saveParsed', { rawId, zstd: compress(JSON.stringify(mail)) }),
    readSenderChecks: async (rawId) => reads.readSenderChecks(rawId),
    saveSenderChecks: (rawId, checks) => write('saveSenderChecks', { rawId, checks }),

    listSessions: async (query) => reads.listSessions(query),
    findSessionByAddress: async (address, now) => reads.findSessionByAddress(address, now),
    countMail: async () => reads.countMail(),
    scanMail: async (scan) => reads.scanMail(scan),

    acquireLease: (lease) => write('acquireLease', lease),
    releaseLease: (name, holder) => write('releaseLease', { name, holder }),

    sweep: (due) => write('sweep', due),
    obstacle: async () => obstacle(),
    async close() {
      db.close()
    },
  }
}

/** Gmail accounts and what was fetched from them. */
function accountStore(reads: ReturnType<typeof allMailReads>, write: Write<MailWrites>) {
  return {
    listAccounts: async (now) => reads.listAccounts(now),
    addAccount: (email) => write('addAccount', email),
    setAccountActive: (accountId, active) => write('setAccountActive', { accountId, active }),
    setAccountHealth: (accountId, health, reason) =>
      write('setAccountHealth', { accountId, health, reason }),
    findAliases: async (accountId, addresses, now) => reads.findAliases(accountId, addresses, now),
    oldestAlias: async (accountId, now) => reads.oldestAlias(accountId, now),
    readFolder: async (accountId, folder) => reads.readFolder(accountId, folder),
    saveFolder: (accountId, folder, state) => write('saveFolder', { accountId, folder, state }),
    addFetchedMail: (mail) => write('addFetchedMail', mail),
    listDeferred: async (query) => reads.listDeferred(query),
    deleteDeferred: (place) => write('deleteDeferred', place),
  } satisfies Partial<MailStore>
}

function allMailReads(db: Db, limits: ReceiveLimits) {
  return {
    ...domainReads(db),
    ...recipientReads(db),
    ...messageReads(db),
    ...keyMailReads(db),
    ...mailReads(db),
    ...accountReads(db),
    ...fetchReads(db),
    ...operatorReads(db),
    ...deferredReads(db, limits),
  }
}

const REMEMBERED = 20_000

/**
 * A command of the operator writes beside the service and cannot move its counters. So no session row is trusted for
 * longer than this, and such a command ends only when this time has passed since its last write.
 */
export const SESSION_CACHE_MS = 1_000

/**
 * A session row is read again when its counter moved, or when it is no longer trusted. A look-up that finds nothing is
 * never remembered.
 */
function cachedSessions(find: (tokenHash: string) => Session | undefined, versions: Versions) {
  const remembered = new Map<string, { session: Session; counter: number; readAt: number }>()

  return (tokenHash: string): Session | undefined => {
    const now = performance.now()
    const known = remembered.get(tokenHash)
    const isTrusted = known && now - known.readAt < SESSION_CACHE_MS
    if (isTrusted && versions.read(known.session.id) === known.counter) return known.session
    // The counter of a session not met before is unknown until its id is: read the row twice then, the counter between.
    const id = known?.session.id ?? find(tokenHash)?.id
    if (id === undefined) return undefined
    const counter = versions.read(id)
    const session = find(tokenHash)
    remembered.delete(tokenHash)
    if (session?.id !== id) return session
    if (remembered.size >= REMEMBERED) {
      const [eldest = ''] = remembered.keys()
      remembered.delete(eldest)
    }
    remembered.set(tokenHash, { session, counter, readAt: now })
    return session
  }
}

// Asked at each mail, and no disk fills up in this time: what it has left below the limit takes much longer.
const DISK_LOOK_MS = 200

function throttled<T>(ask: () => T): () => T {
  let answer: { value: T; until: number } | undefined
  return () => {
    const now = performance.now()
    if (!answer || now >= answer.until) answer = { value: ask(), until: now + DISK_LOOK_MS }
    return answer.value
  }
}

const SMALL_SHARE = 0.05
const SMALL_BYTES = 512 * 1024 * 1024

function lowDisk(folder: string, minFreeBytes: number | 'auto'): string | undefined {
  const { bavail, blocks, bsize } = statfsSync(folder)
  const least =
    minFreeBytes === 'auto' ? Math.min(blocks * bsize * SMALL_SHARE, SMALL_BYTES) : minFreeBytes
  const free = bavail * bsize
  if (free >= least) return undefined
  const mb = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`
  return `${mb(free)} of disk are free, fewer than the ${mb(least)} of MAYFLY_MIN_FREE`
}

// What is below it is for what must be written all the same: to delete, to end a session.
const KEPT_SHARE = 0.01

/** The writer is refused at the limit itself; this tells of it before. Pages that were freed are used again. */
function lowFile(db: Db, maxBytes: number | 'auto'): string | undefined {
  if (maxBytes === 'auto') return undefined
  const [pages, freed, size] = ['page_count', 'freelist_count', 'page_size'].map((name) =>
    Number(db.pragma(name, { simple: true })),
  ) as [number, number, number]
  if ((pages - freed) * size < maxBytes * (1 - KEPT_SHARE)) return undefined
  return 'mail.db is as large as MAYFLY_MAIL_DB_MAX allows'
}
