import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'
import type { Log } from './base/log/log.ts'
import { OperatorError } from './base/problem.ts'
import { loadSettings } from './base/settings/settings.ts'
import { requireTrusted } from './base/settings/trusted-file.ts'
import { printableLines } from './base/text.ts'
import { localEndpoints } from './cli/banner.ts'
import { type CliContext, run } from './cli/commands.ts'
import { operatorMessage } from './cli/error-message.ts'
import { type Config, readConfig } from './runtime/config.ts'
import {
  OPERATOR_MAIL_MS,
  openMailStoreForCli,
  openMailStoreIfExists,
  openShopStoreForCli,
  storeFolder,
} from './runtime/stores.ts'

/** What takes long to load is loaded by the action that uses it. */
function cliContext(): CliContext {
  const read = () => readConfig(loadSettings(process.cwd(), process.env, requireTrusted))
  const config = () => read().config
  const manifest = readManifest(new URL('../package.json', import.meta.url))
  // Only a clone is private; packages have a manifest of their own.
  const command = manifest.private ? 'npm run --silent mayfly --' : 'mayfly'
  return {
    version: manifest.version,
    command,
    config,
    settings: () => read().settings,
    readConfig,
    endpoints() {
      const { host, http, smtp } = config()
      return localEndpoints({ host, httpPort: http.port, smtpPort: smtp.port })
    },
    withMail: (operation) => withStore(openMailStoreForCli(config()), operation),
    withShop: (operation) => withStore(openShopStoreForCli(config()), operation),
    openMailIfExists: () => openMailStoreIfExists(config()),
    openLog: openErrorLog,
    now: () => new Date(),
    randomBytes,
    async serve() {
      // Whoever starts it chooses its directory. Commands may be run anywhere.
      const given = readConfig(loadSettings(process.cwd(), process.env))
      const { serve } = await import('./runtime/serve.ts')
      await serve(given.config, { command, settings: given.settings })
    },
    async backup(given, { keep: count, ...options }) {
      const data = sqliteFolder(config())
      const { folder, keep: usual } = config().backup
      const target = given ?? folder
      if (target === '') throw new OperatorError('Name a file or a folder, or set MAYFLY_BACKUP.')
      const keep = count ?? (given === undefined ? usual : undefined)
      // The setting names a folder, whether it exists or not.
      const path = given === undefined ? `${target}/` : target
      const { backUpTo } = await import('./store/backup/dated.ts')
      return backUpTo(data, path, { ...options, keep, now: new Date() })
    },
    async restore(file, { tell }) {
      const folder = sqliteFolder(config())
      const { restoreBackup } = await import('./store/backup/restore.ts')
      return restoreBackup(folder, file, { now: new Date(), tell })
    },
    async migrate(move, report) {
      const { moveToPostgres } = await import('./store/move/move.ts')
      const retention = { poolMs: config().pool.ttlMs, operatorMs: OPERATOR_MAIL_MS }
      return await moveToPostgres({ ...move, ...retention, now: new Date(), report })
    },
  }
}

async function openErrorLog(level: 'info' | 'warn' = 'warn'): Promise<Log> {
  const { openLog } = await import('./base/log/open-log.ts')
  const pretty = isatty(2) ? 'colours' : true
  const write = (line: string) => void process.stderr.write(line)
  return openLog({ level, thread: 'main' }, { write, pretty })
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

function sqliteFolder(config: Config): string {
  const folder = storeFolder(config)
  if (folder !== undefined) return folder
  throw new OperatorError('Only for SQLite. For PostgreSQL use pg_dump, see docs/scaling.md.')
}

function readManifest(file: URL): { version: string; private?: boolean } {
  return JSON.parse(readFileSync(file, 'utf8'))
}

// No other user may read mail, token hashes or our private key, whoever created the directory.
process.umask(0o077)
try {
  process.exitCode = await run(process.argv.slice(2), cliContext())
} catch (error) {
  const message = operatorMessage(error)
  if (message === undefined) throw error
  process.stderr.write(`${printableLines(message)}\n`)
  process.exitCode = 1
}
