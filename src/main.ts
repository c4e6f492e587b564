import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CliActions, run } from './cli/commands.ts'
import { banner, localEndpoints, startWarnings } from './cli/serve.ts'
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
import { startService } from './runtime/start.ts'
import {
  OPERATOR_MAIL_MS,
  openMailStoreForCli,
  openShopStoreForCli,
  usesPostgres,
} from './runtime/stores.ts'
import { descriptorLimit, limitConnections } from './runtime/system.ts'
import { openLargeReads } from './service/mail/large-reads.ts'
import { openParseOnce } from './service/mail/parse-once.ts'
import { openParsedReader } from './service/mail/parsed-mail.ts'
import type { AccountAdminDeps } from './service/sessions/accounts.ts'
import { moveToPostgres } from './store/move/move.ts'
import { MoveRefused } from './store/move/source.ts'
import { UnfitServer } from './store/postgres/connection/server-requirements.ts'
import { NewerSchema, OlderSchema } from './store/schema.ts'
import { BackupRefused, backupShop } from './store/sqlite/backup.ts'
import { FolderInUse } from './store/sqlite/files.ts'
import { DamagedFile } from './store/sqlite/migrate.ts'
import { restoreShop } from './store/sqlite/restore.ts'

/** Each action opens only what it needs: most commands run beside a service on the same data directory. */
function cliActions(): CliActions {
  const read = () => readConfig(loadSettings(process.cwd(), process.env))
  return {
    version: versionOf(new URL('../package.json', import.meta.url)),
    serve: () => serve(read().config),
    settings: () => read().settings,
    endpoints: () => endpointsOf(read().config),
    plans: () => read().config.plans,
    withAccounts: (operation) => withAccounts(read().config, operation),
    testAccount: async (email) => await testAccount(accountSetting(read().config, email)),
    aliasTrial: () => openAliasTest(read().config, { log: errorLog() }),
    withDomains: (operation) => withStore(openMailStoreForCli(read().config), operation),
    withOperatorStore: (operation) =>
      withStore(openMailStoreForCli(read().config), (store) =>
        operation({ store, now: () => new Date() }),
      ),
    withKeys: (operation) =>
      withStore(openShopStoreForCli(read().config), (shop) =>
        operation({ shop, now: () => new Date(), randomBytes }),
      ),
    backup: async (file, options) => backupShop(sqliteFolder(read().config), file, options),
    restore: async (file, { tell }) =>
      restoreShop(sqliteFolder(read().config), file, { now: new Date(), tell }),
    migrate: (move, report) =>
      moveToPostgres({
        ...move,
        now: new Date(),
        poolMs: read().config.pool.ttlMs,
        operatorMs: OPERATOR_MAIL_MS,
        report,
      }),
    withOperatorMail: (operation) =>
      withStore(openMailStoreForCli(read().config), async (store) => {
        const parser = openParser({ log: errorLog() })
        try {
          const parsed = openParsedReader({
            store,
            parse: openParseOnce({ store, parser }),
            largeReads: openLargeReads(),
          })
          await operation({ ...store, parsed, waitForNextPoll: () => sleep(1_000) })
        } finally {
          await parser.close()
        }
      }),
  }
}

async function serve(config: Config): Promise<void> {
  const log = openLog({ level: config.logLevel, thread: 'main' })
  // Installed first: the service may be stopped while it starts.
  const stopRequested = stopSignal()
  const service = await startService(config, {
    log,
    died(fault) {
      log.error({ err: fault }, 'a thread died; exiting')
      process.exit(1)
    },
  })
  const { httpPort, smtpPort } = service
  const endpoints = localEndpoints({ host: config.host, httpPort, smtpPort })
  const domains = await service.listDomains()
  const names = domains.filter((domain) => domain.active && !domain.removed).map(({ name }) => name)
  const lines = banner({
    endpoints,
    baseUrl: config.http.baseUrl,
    domains: names,
    dataLocation: usesPostgres(config) ? redactPasswords(config.store) : config.data,
    payments: config.payments.provider,
  })
  // If a program reads the log, standard output has only JSON lines.
  const terminal = process.stdout.isTTY ? process.stdout : process.stderr
  // A full disk under the log must not stop intake.
  terminal.on('error', () => {})
  terminal.write(`${lines.join('\n')}\n`)
  for (const warning of startWarnings(exposure(config))) log.warn({}, warning)
  service
    .warm()
    .catch((err: Error) => log.warn({ err }, 'failed to start a parser process in advance'))

  await stopRequested
  log.info({}, 'shutting down: completing mail in progress')
  // A second signal exits at once. Nothing acknowledged is lost.
  void stopSignal().then(() => process.exit(1))
  await service.stop()
  log.info({}, 'stopped')
  // Does not wait for requests to a payment provider or mail server that never responds.
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

/** For commands whose standard output is their result. */
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
  // Without secrets, so that no command can print them.
  const file = config.gmailAccounts.map(({ email, dots, masked, active }) => {
    return { email, dots, masked, active }
  })
  await withStore(openMailStoreForCli(config), (store) =>
    operation({ store, file, now: () => new Date(), randomBytes }),
  )
}

function accountSetting({ gmailAccounts }: Config, email: Address) {
  const account = gmailAccounts.find((one) => one.email === email)
  if (!account) throw new Error(`${email} is not in the accounts file`)
  return account
}

function endpointsOf({ host, http, smtp }: Config) {
  return localEndpoints({ host, httpPort: http.port, smtpPort: smtp.port })
}

function sqliteFolder(config: Config): string {
  if (!usesPostgres(config)) return config.data
  throw new BackupRefused('Only for SQLite. For PostgreSQL use pg_dump, see docs/scaling.md.')
}

function versionOf(file: URL): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** The message of an error that the operator can fix; undefined for others, which are printed with a stack trace. */
function userMessage(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (hasErrorCode(error, 'EADDRINUSE'))
    return `${error.message}. Set MAYFLY_HTTP_PORT or MAYFLY_SMTP_PORT to a free port.`
  // A folder, file or host that cannot be used: the message names it.
  if ('syscall' in error || hasErrorCode(error, 'SQLITE_CANTOPEN')) return error.message
  return USER_ERRORS.some((kind) => error instanceof kind) ? error.message : undefined
}

const USER_ERRORS = [
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

// No other user may read mail, token hashes or our private key, whoever created the directory.
process.umask(0o077)
try {
  process.exitCode = await run(process.argv.slice(2), cliActions())
} catch (error) {
  const message = userMessage(error)
  if (message === undefined) throw error
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}
