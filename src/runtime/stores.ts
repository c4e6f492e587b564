import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'
import { toError } from '../base/problem.ts'
import type { ReceiveLimits } from '../mail/rules/recipient.ts'
import { openCheckpoints } from '../store/sqlite/checkpoints.ts'
import { type Db, MAIL_FILE } from '../store/sqlite/files.ts'
import type { WriteOutcome, WriteRequest } from '../store/sqlite/group-commit.ts'
import { openSqliteLedger } from '../store/sqlite/ledger.ts'
import { openMailWriter, openSqliteMail } from '../store/sqlite/mail-store.ts'
import { MAILBOX_CACHE_MS, makeVersions, openVersions } from '../store/sqlite/mailbox-cache.ts'
import { openMigrated } from '../store/sqlite/migrate.ts'
import { openShopWriter, openSqliteShop } from '../store/sqlite/shop-store.ts'
import type { ShopStore, Store } from '../store/store.ts'
import type { Config } from './config.ts'
import { openCaller } from './ports.ts'

// Opens the configured engine. On SQLite, a thread reads directly and writes through a port to the single writer thread; on
// PostgreSQL, each thread does both and there are no ports. Its client is loaded only where it is used.

/** Retention of mail for postmaster and abuse. */
export const OPERATOR_MAIL_MS = 30 * 86_400_000

/** The folder with the files of the store; undefined if they are at a database server, with a clock and backups of its own. */
export function storeFolder({ store, data }: Pick<Config, 'store' | 'data'>): string | undefined {
  return usesPostgres({ store }) ? undefined : data
}

function usesPostgres({ store }: Pick<Config, 'store'>): boolean {
  return store !== 'sqlite:'
}

interface MigrationOptions {
  /** Called if a migration has to wait for locks of these clients of the database. */
  onWait?: ((others: string) => void) | undefined
}

/** For the start, before anything uses the ledger. */
export async function openLedgerStore(config: Config, options: MigrationOptions) {
  if (!usesPostgres(config)) return openSqliteLedger(config.data)
  const postgres = await import('../store/postgres/ledger.ts')
  return await postgres.openPostgresLedger(config.store, options)
}

export async function openMailStore(
  config: Config,
  {
    versions,
    port,
    ledgerKey,
  }: { versions: SharedArrayBuffer; port: MessagePort | undefined; ledgerKey: Uint8Array },
): Promise<Store> {
  if (usesPostgres(config)) return await openPostgresMail(config, { ledgerKey })
  const { data: folder, minFreeBytes, mailMaxBytes: maxBytes } = config
  const writerPort = requirePort(port)
  const store = openSqliteMail({
    folder,
    minFreeBytes,
    maxBytes,
    write: openCaller(writerPort),
    versions: openVersions(versions),
    limits: receiveLimits(config),
    ledgerKey,
  })
  return closeWith(store, writerPort)
}

export async function openShopStore(
  config: Config,
  port: MessagePort | undefined,
  options: MigrationOptions = {},
): Promise<ShopStore> {
  if (usesPostgres(config)) return await openPostgresShop(config, options)
  const writerPort = requirePort(port)
  return closeWith(openSqliteShop(config.data, openCaller(writerPort)), writerPort)
}

/** For commands that run next to the service: they create no sessions, store no mail and hold no leases. */
export interface CliMailStore
  extends Omit<
    Store,
    | 'createSession'
    | 'findSession'
    | 'extendSession'
    | 'reviveSession'
    | 'findRecipient'
    | 'addMail'
    | 'acquireLease'
    | 'releaseLease'
    | 'sweep'
  > {
  /** Resolves when every new request sees the last write. */
  waitUntilVisible(): Promise<void>
}

// Only for methods that commands do not have.
const NO_LEDGER_KEY = new Uint8Array(32)

// A timer may fire slightly early.
const VISIBLE_MS = MAILBOX_CACHE_MS + 20

/** The mail store of a command: it writes in short transactions of its own, and does not migrate a database that an older service uses. */
export async function openMailStoreForCli(config: Config): Promise<CliMailStore> {
  if (usesPostgres(config)) {
    const options = { upgrade: false, ledgerKey: NO_LEDGER_KEY } as const
    const store = await openPostgresMail(config, options)
    return { ...store, waitUntilVisible: async () => {} }
  }
  const { data: folder, minFreeBytes } = config
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const db = openMigrated(folder, 'mail', { besideService: true })
  const versions = openVersions(makeVersions())
  const options = { limits: receiveLimits(config), ledgerKey: NO_LEDGER_KEY }
  const { write, close } = writeAlone(db, openMailWriter(db, versions, options))
  const mail = openSqliteMail({ folder, minFreeBytes, write, versions, ...options })
  const store = closeWith(mail, { close })
  return { ...store, waitUntilVisible: () => pause(VISIBLE_MS) }
}

/** The same, or why there is none: before the first start, because a check creates nothing, or if it is unusable. */
export async function openMailStoreIfExists(config: Config) {
  const folder = storeFolder(config)
  const inspectServer = serverInspection(config)
  const isNew = folder !== undefined && !existsSync(join(folder, MAIL_FILE))
  if (isNew) return { store: undefined, storeFault: undefined, inspectServer }
  try {
    return { store: await openMailStoreForCli(config), storeFault: undefined, inspectServer }
  } catch (error) {
    return { store: undefined, storeFault: toError(error).message, inspectServer }
  }
}

/** Asks the database server for its state; undefined if there is none. */
export function serverInspection({ store: url }: Pick<Config, 'store'>) {
  if (!usesPostgres({ store: url })) return undefined
  return async () => {
    const { inspectPostgres } = await import('../store/postgres/connection/inspect.ts')
    return await inspectPostgres(url)
  }
}

/** The same for the shop. Keys are read on every request, so changes take effect at once. */
export async function openShopStoreForCli(
  config: Pick<Config, 'data' | 'store'>,
): Promise<ShopStore> {
  if (usesPostgres(config)) return await openPostgresShop(config, { upgrade: false })
  const { data: folder } = config
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const db = openMigrated(folder, 'shop', { besideService: true })
  const { write, close } = writeAlone(db, openShopWriter(db))
  return closeWith(openSqliteShop(folder, write), { close })
}

export function receiveLimits(config: Config): ReceiveLimits {
  const { maxMessages, maxBytes } = config.sessions
  return {
    mailbox: { maxMessages, maxBytes },
    poolMaxBytes: config.pool.maxBytes,
    ownMaxBytes: config.ownDomains.maxBytes,
    maxMailBytes: config.smtp.maxBytes,
  }
}

async function openPostgresMail(
  config: Config,
  options: { ledgerKey: Uint8Array; upgrade?: false },
) {
  const postgres = await import('../store/postgres/mail-store.ts')
  return await postgres.openPostgresMail({
    url: config.store,
    limits: receiveLimits(config),
    poolMs: config.pool.ttlMs,
    operatorMs: OPERATOR_MAIL_MS,
    ...options,
  })
}

async function openPostgresShop(
  { store: url }: Pick<Config, 'store'>,
  options: MigrationOptions & { upgrade?: false } = {},
) {
  const postgres = await import('../store/postgres/shop-store.ts')
  return await postgres.openPostgresShop({ url, ...options })
}

/** Each write is a group of its own: one short IMMEDIATE transaction, which the service's writer waits for. */
function writeAlone(db: Db, commit: (group: WriteRequest[]) => WriteOutcome[]) {
  const checkpoints = openCheckpoints(db)
  return {
    async write(name: string, value: unknown) {
      const [outcome] = commit([{ name, value }])
      checkpoints.shorten()
      if (!outcome || 'error' in outcome) throw outcome?.error
      return outcome.result
    },
    close(): void {
      checkpoints.stop()
      db.close()
    },
  }
}

function requirePort(port: MessagePort | undefined): MessagePort {
  if (!port) throw new Error('SQLite needs a port to the writer')
  return port
}

function closeWith<Store extends { close(): Promise<void> }>(
  store: Store,
  resource: Pick<MessagePort | Db, 'close'>,
): Store {
  return {
    ...store,
    async close() {
      await store.close()
      resource.close()
    },
  }
}
