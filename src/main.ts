import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type Actions, run } from './cli/commands.ts'
import { banner, startWarnings, whereabouts } from './cli/serve.ts'
import { type Config, readConfig } from './config/config.ts'
import { loadSettings, SettingsError } from './config/settings.ts'
import { redactPasswords } from './config/values.ts'
import type { Address } from './core/address.ts'
import type { Log } from './core/log.ts'
import { hasErrorCode, Problem } from './core/problem.ts'
import { testAccount } from './imap/account.ts'
import { openLog } from './log/log.ts'
import { openParser } from './mime/parser.ts'
import { openAliasTest } from './runtime/alias-test.ts'
import { moveFolder } from './runtime/moving.ts'
import { startService } from './runtime/start.ts'
import { openMailStoreForCli, openShopStoreForCli, usesPostgres } from './runtime/stores.ts'
import { descriptorLimit, limitConnections } from './runtime/system.ts'
import { openLargeReads } from './service/mail/large-reads.ts'
import { openParseOnce } from './service/mail/parse-once.ts'
import { openParsedReader } from './service/mail/parsed-mail.ts'
import type { AccountAdminDeps } from './service/sessions/accounts.ts'
import { MoveRefused } from './store/moving.ts'
import { UnfitServer } from './store/postgres/connection/server.ts'
import { NewerSchema, OlderSchema } from './store/schema.ts'
import { BackupRefused, backupShop } from './store/sqlite/backup.ts'
import { FolderInUse } from './store/sqlite/files.ts'
import { DamagedFile } from './store/sqlite/migrate.ts'
import { restoreShop } from './store/sqlite/restore.ts'

/** The command line's deeds. Each opens only what it needs: most of them run beside a service on the same folder. */
function actions(): Actions {
  const read = () => readConfig(loadSettings(process.cwd(), process.env))
  return {
    version: versionOf(new URL('../package.json', import.meta.url)),
    serve: () => serve(read().config),
    settings: () => read().settings,
    here: () => hereOf(read().config),
    plans: () => read().config.plans,
    withAccounts: (operation) => withAccounts(read().config, operation),
    testAccount: async (email) => await testAccount(settingOf(read().config, email)),
    aliasTrial: () => openAliasTest(read().config, { log: errorLog() }),
    withDomains: (operation) => withStore(openMailStoreForCli(read().config), operation),
    withOperatorStore: (use) =>
      withStore(openMailStoreForCli(read().config), (store) =>
        use({ store, now: () => new Date() }),
      ),
    withKeys: (operation) =>
      withStore(openShopStoreForCli(read().config), (store) =>
        operation({ store, now: () => new Date(), randomBytes }),
      ),
    backup: async (file, options) => backupShop(folderOf(read().config), file, options),
    restore: async (file, { tell }) =>
      restoreShop(folderOf(read().config), file, { now: new Date(), tell }),
    migrate: (move, told) => moveFolder(read().config, move, told),
    withOperatorMail: (operation) =>
      withStore(openMailStoreForCli(read().config), async (store) => {
        const parser = openParser({ log: errorLog() })
        try {
          const parsed = openParsedReader({
            store,
            parse: openParseOnce({ store, parser }),
            largeReads: openLargeReads(),
          })
          await operation({ ...store, parsed, pause: () => pause(1_000) })
        } finally {
          await parser.close()
        }
      }),
  }
}

async function serve(config: Config): Promise<void> {
  const log = openLog({ level: config.logLevel, thread: 'main' })
  // From the first moment on: the doors open before the last part is ready.
  const asked = stopSignal()
  const service = await startService(config, {
    log,
    died(fault) {
      log.error({ err: fault }, 'a thread ended; the service ends with it')
      process.exit(1)
    },
  })
  const { httpPort, smtpPort } = service
  const here = whereabouts({ host: config.host, httpPort, smtpPort })
  const domains = await service.listDomains()
  const names = domains.filter((domain) => domain.active && !domain.removed).map(({ name }) => name)
  const lines = banner({
    here,
    baseUrl: config.http.baseUrl,
    domains: names,
    kept: usesPostgres(config) ? redactPasswords(config.store) : config.data,
    payments: config.payments.provider,
  })
  // Where a program reads the log, its lines stay JSON from the first to the last.
  const people = process.stdout.isTTY ? process.stdout : process.stderr
  // A full disk under the log keeps no mail from coming in.
  people.on('error', () => {})
  people.write(`${lines.join('\n')}\n`)
  for (const warning of startWarnings(exposure(config))) log.warn({}, warning)
  service.warm().catch((err: Error) => log.warn({ err }, 'no parse child could be started yet'))

  await asked
  log.info({}, 'stopping: mail in flight is finished first')
  // Asked twice: whoever asks does not want to wait. Nothing acknowledged is lost by it.
  void stopSignal().then(() => process.exit(1))
  await service.stop()
  log.info({}, 'stopped')
  // A payment provider or mail server that never answers would keep us for as long as we were ready to wait for it.
  process.exit()
}

function exposure(config: Config) {
  const { host, http, adminToken } = config
  const allowed = limitConnections(config, descriptorLimit())
  return {
    host,
    baseUrl: http.baseUrl,
    hasAdminToken: adminToken !== '',
    connections: { wanted: http.connections, allowed: allowed.http.connections },
  }
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve())
  })
}

/** For a command whose standard output is its answer. */
function errorLog(): Log {
  const sink = { write: (line: string) => void process.stderr.write(line), pretty: true }
  return openLog({ level: 'warn', thread: 'main' }, sink)
}

async function withStore<Store extends { close(): Promise<void> }>(
  opening: Promise<Store>,
  operation: (store: Store) => Promise<void>,
): Promise<void> {
  const store = await opening
  try {
    await operation(store)
  } finally {
    await store.close()
  }
}

async function withAccounts(
  config: Config,
  operation: (book: AccountAdminDeps) => Promise<void>,
): Promise<void> {
  // Without the secrets: no command that prints them can ever have them.
  const file = config.gmailAccounts.map(({ email, dots, masked, active }) => {
    return { email, dots, masked, active }
  })
  await withStore(openMailStoreForCli(config), (store) =>
    operation({ store, file, now: () => new Date(), randomBytes }),
  )
}

function settingOf({ gmailAccounts }: Config, email: Address) {
  const account = gmailAccounts.find((one) => one.email === email)
  if (!account) throw new Error(`${email} does not stand in the file`)
  return account
}

function hereOf({ host, http, smtp }: Config) {
  return whereabouts({ host, httpPort: http.port, smtpPort: smtp.port })
}

/** Of a shop that is a file: of a PostgreSQL its own programs make better backups. */
function folderOf(config: Config): string {
  if (!usesPostgres(config)) return config.data
  throw new BackupRefused('This is for SQLite. On PostgreSQL use pg_dump, see docs/scaling.md.')
}

function versionOf(file: URL): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** Faults that a person at a terminal can mend are told without a stack. */
function plainFault(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (hasErrorCode(error, 'EADDRINUSE'))
    return `${error.message}. Set MAYFLY_HTTP_PORT or MAYFLY_SMTP_PORT to a free port.`
  // A folder that cannot be made, a file that cannot be read, a host that does not exist: the message names it.
  if ('syscall' in error || hasErrorCode(error, 'SQLITE_CANTOPEN')) return error.message
  return MENDABLE.some((kind) => error instanceof kind) ? error.message : undefined
}

const MENDABLE = [
  SettingsError,
  FolderInUse,
  NewerSchema,
  OlderSchema,
  UnfitServer,
  DamagedFile,
  BackupRefused,
  MoveRefused,
  Problem,
]

// Mail, tokens' hashes and our key are nobody else's on this machine, whoever made the folder.
process.umask(0o077)
try {
  process.exitCode = await run(process.argv.slice(2), actions())
} catch (error) {
  const fault = plainFault(error)
  if (fault === undefined) throw error
  process.stderr.write(`${fault}\n`)
  process.exitCode = 1
}
