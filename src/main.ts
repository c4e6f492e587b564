import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from './base/address.ts'
import type { Log } from './base/log/log.ts'
import { hasErrorCode, OperatorError, Problem } from './base/problem.ts'
import { loadSettings, SettingsError } from './base/settings/settings.ts'
import { requireTrusted } from './base/settings/trusted-file.ts'
import { printableLines } from './base/text.ts'
import { installationEntries } from './blocks/blocks.ts'
import { localEndpoints } from './cli/banner.ts'
import { type CliActions, run } from './cli/commands.ts'
import type { Check } from './doctor/checks/context.ts'
import { failure } from './doctor/rules/result.ts'
import type { AccountAdminDeps } from './gmail/accounts.ts'
import type { LedgerDeps } from './mail/ledger.ts'
import { openLargeReads } from './mail/read/large-reads.ts'
import { openParseOnce } from './mail/read/parse-once.ts'
import { openParsedMail } from './mail/read/parsed-mail.ts'
import { openParser } from './mime/parser.ts'
import { type Config, readConfig } from './runtime/config.ts'
import { machineAddresses } from './runtime/probes/machine.ts'
import {
  type CliMailStore,
  OPERATOR_MAIL_MS,
  openMailStoreForCli,
  openShopStoreForCli,
  usesPostgres,
} from './runtime/stores.ts'
import { writeBackup } from './store/backup/backup.ts'
import { restoreBackup } from './store/backup/restore.ts'
import type { ShopStore } from './store/store.ts'
import type { WebhookDeps } from './webhooks/webhooks.ts'

/**
 * Each action opens only what it needs: most commands run beside a service on the same data directory. What takes long to load
 * is loaded by the action that uses it.
 */
function cliActions(): CliActions {
  const read = () => readConfig(loadSettings(process.cwd(), process.env, requireTrusted))
  const manifest = readManifest(new URL('../package.json', import.meta.url))
  // Only a clone is private; packages have a manifest of their own.
  const command = manifest.private ? 'npm run --silent mayfly --' : 'mayfly'
  return {
    version: manifest.version,
    serve: async () => {
      // Whoever starts it chooses its directory. Commands may be run anywhere.
      const { config, settings } = readConfig(loadSettings(process.cwd(), process.env))
      const { serve } = await import('./runtime/serve.ts')
      await serve(config, { command, settings })
    },
    settings: () => read().settings,
    setup: async () => {
      const { setupActions } = await import('./runtime/setup-machine.ts')
      return setupActions({ command, cwd: process.cwd(), env: process.env })
    },
    withChecks: (options, operation) => withChecks(read, options, operation),
    endpoints: () => endpointsOf(read().config),
    plans: () => read().config.plans,
    withAccounts: (operation) => withAccounts(read().config, operation),
    testAccount: async (email) => {
      const { testAccount } = await import('./gmail/imap/account.ts')
      return await testAccount(accountSetting(read().config, email))
    },
    aliasTrial: async () => {
      const { openAliasTest } = await import('./gmail/alias-test.ts')
      return openAliasTest(read().config, { log: await openErrorLog() })
    },
    withDomains: (operation) => withMail(read().config, operation),
    withOperatorStore: (operation) =>
      withMail(read().config, (store) => operation({ store, now: () => new Date() })),
    withBlocks: (operation) => {
      const { config } = read()
      const own = installationEntries(config, machineAddresses())
      return withMail(config, (store) => operation({ store, own, now: () => new Date() }))
    },
    withLedger: (operation) => withLedger(read().config, operation),
    withKeys: (operation) =>
      withShop(read().config, (shop) => operation({ shop, now: () => new Date(), randomBytes })),
    withOrders: (operation) => withShop(read().config, (shop) => operation({ shop })),
    withWebhooks: (operation) => withWebhooks(read().config, operation),
    backup: async (file, options) => writeBackup(sqliteFolder(read().config), file, options),
    restore: async (file, { tell }) =>
      restoreBackup(sqliteFolder(read().config), file, { now: new Date(), tell }),
    migrate: async (move, report) => {
      const { moveToPostgres } = await import('./store/move/move.ts')
      const { ttlMs: poolMs } = read().config.pool
      const retention = { poolMs, operatorMs: OPERATOR_MAIL_MS }
      return await moveToPostgres({ ...move, ...retention, now: new Date(), report })
    },
    withOperatorMail: (operation) =>
      withMail(read().config, async (store) => {
        const parser = openParser({ log: await openErrorLog() })
        try {
          const parsed = openParsedMail({
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

const EXIT_MS = 500

/** With invalid settings, that is the only check. */
async function withChecks(
  read: () => ReturnType<typeof readConfig>,
  { domain, listings }: { domain: string | undefined; listings: boolean },
  operation: (checks: readonly Check[]) => Promise<void>,
): Promise<void> {
  let given: ReturnType<typeof readConfig>
  try {
    given = read()
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    const result = failure(
      error.problems.join('\n'),
      'Correct the settings. All of them: mayfly config',
    )
    return await operation([{ name: 'settings', run: async () => result }])
  }
  const { openCheckContext, openStoreForChecks, settingsReport } = await import(
    './runtime/checks.ts'
  )
  const { listChecks } = await import('./doctor/checks/checks.ts')
  const { config, settings } = given
  const { store, storeFault } = await openStoreForChecks(config)
  try {
    const context = await openCheckContext(config, {
      log: await openErrorLog(),
      domain,
      store,
      storeFault,
      settingsReport: settingsReport(settings, process.env),
    })
    await operation(listChecks(context, { listings }))
  } finally {
    // A check that took too long may still have a connection open, also to the store.
    await Promise.race([store?.close(), sleep(EXIT_MS, undefined, { ref: false })])
    setTimeout(() => process.exit(), EXIT_MS).unref()
  }
}

/** For commands whose standard output is their result. */
async function openErrorLog(): Promise<Log> {
  const { openLog } = await import('./base/log/open-log.ts')
  const sink = { write: (line: string) => void process.stderr.write(line), pretty: true }
  return openLog({ level: 'warn', thread: 'main' }, sink)
}

function withMail(config: Config, operation: (store: CliMailStore) => Promise<void>) {
  return withStore(openMailStoreForCli(config), operation)
}

function withShop(config: Config, operation: (shop: ShopStore) => Promise<void>) {
  return withStore(openShopStoreForCli(config), operation)
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

async function withWebhooks(
  config: Config,
  operation: (deps: WebhookDeps) => Promise<void>,
): Promise<void> {
  const { openWebhookClient } = await import('./webhooks/open-client.ts')
  const { poolAccess, webhooks, senderChecks } = config
  const client = { allowed: webhooks.allowed, dnsServers: senderChecks.dns }
  const deps = {
    now: () => new Date(),
    randomBytes,
    poolAccess,
    webhookClient: openWebhookClient(client),
    // The service looks for changes by itself; rates do not apply to the operator.
    bus: { wake() {} },
    limit: { take: async () => 0, peek: async () => 0, spend: async () => {} },
  }
  await withMail(config, (store) => withShop(config, (shop) => operation({ ...deps, store, shop })))
}

async function withLedger(
  config: Config,
  operation: (deps: LedgerDeps) => Promise<void>,
): Promise<void> {
  const { cooldownMs, ...lifetimes } = config.sessions
  await withMail(config, (store) =>
    operation({ store, lifetimes, cooldownMs, now: () => new Date() }),
  )
}

async function withAccounts(
  config: Config,
  operation: (deps: AccountAdminDeps) => Promise<void>,
): Promise<void> {
  // Without secrets, so that no command can print them.
  const file = config.gmailAccounts.map(({ email, dots, masked, active }) => {
    return { email, dots, masked, active }
  })
  await withMail(config, (store) => operation({ store, file, now: () => new Date(), randomBytes }))
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
  throw new OperatorError('Only for SQLite. For PostgreSQL use pg_dump, see docs/scaling.md.')
}

function readManifest(file: URL): { version: string; private?: boolean } {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** The message of an error that the operator can fix; undefined for others, which are printed with a stack trace. */
function userMessage(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (hasErrorCode(error, 'EADDRINUSE'))
    return `${error.message}. Set MAYFLY_HTTP_PORT or MAYFLY_SMTP_PORT to a free port.`
  // A folder, file or host that cannot be used: the message names it.
  if ('syscall' in error || hasErrorCode(error, 'SQLITE_CANTOPEN')) return error.message
  return error instanceof OperatorError || error instanceof Problem ? error.message : undefined
}

// No other user may read mail, token hashes or our private key, whoever created the directory.
process.umask(0o077)
try {
  process.exitCode = await run(process.argv.slice(2), cliActions())
} catch (error) {
  const message = userMessage(error)
  if (message === undefined) throw error
  process.stderr.write(`${printableLines(message)}\n`)
  process.exitCode = 1
}
