import { mkdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../config/config.ts'
import type { ReceiveLimits } from '../core/recipient.ts'
import { openPostgresMail } from '../store/postgres/mail-store.ts'
import { openPostgresShop } from '../store/postgres/shop-store.ts'
import type { ShopStore } from '../store/shop-store.ts'
import type { Db } from '../store/sqlite/files.ts'
import { groupCommit, type Write } from '../store/sqlite/group-commit.ts'
import {
  allMailWrites,
  type MailWrites,
  openSqliteMail,
  SESSION_CACHE_MS,
} from '../store/sqlite/mail-store.ts'
import { openMigrated } from '../store/sqlite/migrate.ts'
import { allShopWrites, openSqliteShop, type ShopWrites } from '../store/sqlite/shop-store.ts'
import { makeVersions, openVersions } from '../store/sqlite/versions.ts'
import type { MailStore } from '../store/store.ts'
import { openCaller } from './ports.ts'

// Who opens which engine. On SQLite a thread reads by itself and writes over a port to the one writer; on PostgreSQL, which
// decides who was first, each thread does both and there are no ports.

/** Postmaster's and abuse's mail: long enough for an operator who looks once a fortnight. */
export const OPERATOR_MAIL_MS = 30 * 86_400_000

export function usesPostgres({ store }: Pick<Config, 'store'>): boolean {
  return store !== 'sqlite:'
}

/** The mail store as one thread of the service sees it. */
export async function openMailStore(
  config: Config,
  { versions, port }: { versions: SharedArrayBuffer; port: MessagePort | undefined },
): Promise<MailStore> {
  if (usesPostgres(config)) return await openPostgresMail(postgresOptions(config))
  const { data: folder, minFreeBytes, mailMaxBytes: maxBytes } = config
  const way = requirePort(port)
  const store = openSqliteMail({
    folder,
    minFreeBytes,
    maxBytes,
    write: openCaller(way) as Write<MailWrites>,
    versions: openVersions(versions),
    limits: receiveLimits(config),
  })
  return closeWith(store, way)
}

/** The shop, for the threads that sell or spend. */
export async function openShopStore(
  config: Config,
  port: MessagePort | undefined,
): Promise<ShopStore> {
  if (usesPostgres(config)) return await openPostgresShop({ url: config.store })
  const way = requirePort(port)
  return closeWith(openSqliteShop(config.data, openCaller(way) as Write<ShopWrites>), way)
}

/** What a command may do beside the service: create no session, store no mail, hold no lease. */
interface CliMailStore
  extends Omit<
    MailStore,
    | 'createSession'
    | 'findSession'
    | 'extendSession'
    | 'reviveSession'
    | 'addMail'
    | 'acquireLease'
    | 'releaseLease'
    | 'sweep'
  > {
  /** Resolves when no request that starts afterwards sees anything older than the last write. */
  waitUntilVisible(): Promise<void>
}

// A timer may fire a little before its time.
const VISIBLE_MS = SESSION_CACHE_MS + 20

/** The mail store of a command that runs beside the service: it writes in short transactions of its own and migrates nothing that a service of an older version uses. */
export async function openMailStoreForCli(config: Config): Promise<CliMailStore> {
  if (usesPostgres(config)) {
    const store = await openPostgresMail({ ...postgresOptions(config), upgrade: false })
    return { ...store, waitUntilVisible: async () => {} }
  }
  const { data: folder, minFreeBytes } = config
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const db = openMigrated(folder, 'mail', { besideService: true })
  const versions = openVersions(makeVersions())
  const limits = receiveLimits(config)
  const writes = allMailWrites(db, limits, Math.random)
  const write = writeAlone(groupCommit(db, writes, versions.add)) as Write<MailWrites>
  const store = closeWith(openSqliteMail({ folder, minFreeBytes, write, versions, limits }), db)
  return { ...store, waitUntilVisible: () => pause(VISIBLE_MS) }
}

/** The same for the shop. Keys are read at each request, so the service's threads see every change at once. */
export async function openShopStoreForCli(
  config: Pick<Config, 'data' | 'store'>,
): Promise<ShopStore> {
  if (usesPostgres(config)) return await openPostgresShop({ url: config.store, upgrade: false })
  const { data: folder } = config
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const db = openMigrated(folder, 'shop', { besideService: true })
  const { writes, batches } = allShopWrites(db)
  const write = writeAlone(groupCommit(db, writes, () => {}, batches)) as Write<ShopWrites>
  return closeWith(openSqliteShop(folder, write), db)
}

export function receiveLimits(config: Config): ReceiveLimits {
  const { maxMessages, maxBytes } = config.sessions
  return {
    mailbox: { maxMessages, maxBytes },
    poolMaxBytes: config.pool.maxBytes,
    maxMailBytes: config.smtp.maxBytes,
  }
}

function postgresOptions(config: Config) {
  return {
    url: config.store,
    limits: receiveLimits(config),
    poolMs: config.pool.ttlMs,
    operatorMs: OPERATOR_MAIL_MS,
  }
}

/** Each write is a group of its own: one short IMMEDIATE transaction, for which the service's writer waits its turn. */
function writeAlone(commit: ReturnType<typeof groupCommit>) {
  return async (name: string, value: unknown) => {
    const [outcome] = commit([{ name, value }])
    if (!outcome || 'error' in outcome) throw outcome?.error
    return outcome.result
  }
}

function requirePort(port: MessagePort | undefined): MessagePort {
  if (!port) throw new Error('on SQLite a thread needs a port to the writer')
  return port
}

function closeWith<Store extends { close(): Promise<void> }>(
  store: Store,
  behind: Pick<MessagePort | Db, 'close'>,
): Store {
  return {
    ...store,
    async close() {
      await store.close()
      behind.close()
    },
  }
}
