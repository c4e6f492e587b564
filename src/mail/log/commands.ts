import { setTimeout as pause } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Address } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import { printable } from '../../base/text.ts'
import { utcTimestamp } from '../../base/time.ts'
import type { CommandContext } from '../../cli/context.ts'
import {
  CommandError,
  formatBytes,
  formatCount,
  HOW_TO_EXIT,
  type JsonOption,
  listTable,
  type Print,
  parseCount,
  printJson,
} from '../../cli/output.ts'
import type { InstallationStore } from '../../keys/installation-store.ts'
import { ledgerKey } from '../rules/ledger.ts'
import { findLines, type LineQuery, lineJson, parseLineQuery } from './find-lines.ts'
import { addressHash, MAIL_LOG_RESULTS, mailLogKey } from './rules.ts'
import type { LineFilter, MailLogStore, StoredLine } from './store.ts'

type LogStore = Pick<MailLogStore, 'scanMailLog' | 'lastLogLine'>

type MailLogContext = Pick<
  CommandContext<unknown, LogStore, Pick<InstallationStore, 'findSecret'>>,
  'withMail' | 'withShop'
>

interface LogOptions extends LineQuery, JsonOption {
  limit: number
  before?: number
  follow?: boolean
}

export function addMailLogCommand(mail: Command, context: MailLogContext, print: Print): void {
  mail
    .command('log')
    .description('Show the mail log: mails and refused commands of the last days, newest first')
    .option('--to <recipient>', 'a whole address, or a domain')
    .option('--from <sender>', 'a whole address, or a domain')
    .option('--ip <ip>', 'the client')
    .option('--result <result>', MAIL_LOG_RESULTS.join(', '))
    .option('--id <id>', 'our id of the mail, as in the reply to its sender')
    .option('--limit <n>', 'maximum number of lines', parseCount, 50)
    .option('--before <number>', 'continue after the line with this number', parseCount)
    .option('--follow', 'then print new lines as they are written')
    .option('--json', 'print JSON; with --follow, an object per line')
    .action(async (options: LogOptions) => {
      const key = await readLogKey(context)
      const filter = await Promise.try(parseLineQuery, options, key).catch(refuse)
      await context.withMail((store) =>
        options.follow
          ? followLines(store, filter, options, { print })
          : printLines(store, filter, options, print),
      )
    })
}

function refuse(error: unknown): never {
  throw error instanceof Problem ? new CommandError(`--${error.message}`, 2) : error
}

export async function printLines(
  store: LogStore,
  filter: LineFilter,
  { limit, before, json }: LogOptions,
  print: Print,
): Promise<void> {
  const { lines, next } = await findLines(store, filter, { before, limit })
  if (json) return printJson(lines.map(lineJson), print)
  if (lines.length === 0) return print('No such lines.')
  for (const line of listTable(HEADING, lines.map(cells))) print(line)
  if (next !== undefined) print(`Next page: --before ${next}`)
}

const POLL_MS = 1_000
const MAX_AT_ONCE = 10_000

/** Oldest first, until the program ends or the signal is aborted. */
export async function followLines(
  store: LogStore,
  filter: LineFilter,
  { limit, json }: Pick<LogOptions, 'limit' | 'json'>,
  { print, pollMs = POLL_MS, signal }: { print: Print; pollMs?: number; signal?: AbortSignal },
): Promise<void> {
  if (!json) print(HOW_TO_EXIT)
  const show = (line: StoredLine) =>
    json ? printJson(lineJson(line), print, 0) : print(printable(cells(line).join('  ')))
  let last: number | undefined
  while (!signal?.aborted) {
    const newest = await store.lastLogLine()
    const page = last === undefined ? { limit } : { after: last, limit: MAX_AT_ONCE }
    const end = last === undefined ? newest : Math.min(newest, last + MAX_AT_ONCE)
    const { lines } = await findLines(store, filter, { ...page, before: end + 1 })
    for (const line of lines.toReversed()) show(line)
    last = end
    if (end === newest) await pause(pollMs)
  }
}

const HEADING = ['TIME (UTC)', 'RESULT', 'FROM', 'TO', 'CLIENT', 'DETAILS']

function cells(line: StoredLine): string[] {
  const { at, result, sender, recipients, account, ip } = line
  return [utcTimestamp(at), result, sender || '-', recipients || '-', account || ip, details(line)]
}

function details({ count, command, reason, result, id, size, tls, ms }: StoredLine): string {
  if (count > 1) return `${formatCount(count)} ${reason}`
  if (result !== 'accepted') return [command, reason].filter((part) => part !== '').join(': ')
  const parts = [id, formatBytes(size), tls === '' ? '' : 'TLS', `${formatCount(ms)} ms`]
  return [...parts, reason].filter((part) => part !== '').join(' ')
}

/** With what finds lines by address. Without a secret no service has run, and there are no lines. */
export async function readLogKey({ withShop }: Pick<MailLogContext, 'withShop'>) {
  let secret: Uint8Array | undefined
  await withShop(async (shop) => {
    secret = await shop.findSecret()
  })
  return mailLogKey(ledgerKey(secret ?? new Uint8Array()))
}

// Lines that are still to be written have the time of another node.
const CLOCK_SKEW_MS = 60_000

interface ForgetDeps {
  store: Pick<MailLogStore, 'forgetLogLines'>
  key: Uint8Array
  now(): Date
}

/** Deletes all lines about an address, as recipient or sender, and those that are still to be written; returns how many there were. */
export async function forgetAddress(
  { store, key, now }: ForgetDeps,
  address: Address,
): Promise<number> {
  const hashes = [addressHash(key, 'to', address), addressHash(key, 'from', address)]
  const until = new Date(now().getTime() + CLOCK_SKEW_MS)
  let all = 0
  for (let deleted = -1; deleted !== 0; all += deleted)
    deleted = await store.forgetLogLines({ hashes, until })
  return all
}
