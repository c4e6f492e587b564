import type { Awaitable } from '../../base/awaitable.ts'
import { rateLimitNetwork } from '../../base/ip.ts'
import { logFault } from '../../base/jobs/outage.ts'
import { type Log, type LogFacts, verbatim } from '../../base/log/log.ts'
import { openLru } from '../../base/lru.ts'
import { counter } from '../../base/metrics.ts'
import { StoreUnavailable } from '../../base/problem.ts'
import type { StoreFault } from '../store.ts'
import {
  eventHashes,
  type MailLogEvent,
  type MailLogLine,
  type MailLogMode,
  type MailLogResult,
  mailLogLine,
} from './rules.ts'
import type { MailLogStore, NewLine } from './store.ts'
import { openLineThrottle } from './throttle.ts'

const lineCounts = counter(
  'mayfly_mail_log_lines_total',
  'Lines of the mail log: stored, counted only because their client had too many, or dropped because they could not be stored',
  'outcome',
  ['stored', 'counted', 'dropped'],
)

/** Who sent a mail: a client, or the Gmail account that it was fetched from. */
type Source = { ip: string } | { account: string }

type Description = Omit<MailLogEvent, 'at' | 'result' | 'count' | 'ip' | 'account'>

export interface MailLog {
  /** An id for a mail, to be named in the reply; undefined if there is no log. */
  newId(): string | undefined
  /** Adds a line; or counts it, if the source has had its share: then `describe` is not called. Never throws. */
  add(source: Source, result: MailLogResult, describe: () => Description): void
  /** Writes what is left. */
  close(): Promise<void>
}

export const NO_MAIL_LOG: MailLog = {
  newId: () => undefined,
  add() {},
  close: async () => {},
}

interface MailLogDeps {
  mode: MailLogMode
  key: Uint8Array
  store: Pick<MailLogStore, 'addLogLines'> & {
    storageFault(): Awaitable<StoreFault | undefined>
  }
  log: Pick<Log, 'info' | 'error'>
  now(): Date
  /** Monotonic milliseconds. */
  clock?: () => number
}

const WRITE_MS = 1_000
const COUNTED = 'only counted: too many lines of one client'

/**
 * The mail log of one thread. Lines go to the log of the process at once, and to the store about once a second, outside the commit
 * of any mail: a failure costs lines, never a reply.
 */
export function openMailLog(deps: MailLogDeps): MailLog {
  const { mode, key, now, log, clock = () => performance.now() } = deps
  if (mode === 'off') return NO_MAIL_LOG
  const throttle = openLineThrottle()
  const table = openTable(deps)
  let timer: NodeJS.Timeout | undefined

  function write(event: MailLogEvent): void {
    const line = mailLogLine(event, mode)
    log.info(lineFacts(line), `mail ${line.result}`)
    const addresses = 1 + (event.recipients?.length ?? 0)
    table.add({ line, addresses, hashes: () => eventHashes(key, event) })
  }

  function writeCounts(isLast = false): void {
    for (const { client, ...counted } of throttle.takeCounts(clock(), isLast)) {
      write({ at: now(), command: '', reason: COUNTED, ...sourceOf(client), ...counted })
    }
  }

  function schedule(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      writeCounts()
      const isBusy = table.isWriting()
      void table.flush()
      if (isBusy || throttle.isCounting()) schedule()
    }, WRITE_MS)
  }

  return {
    newId: () => newId(now()),
    add(source, result, describe) {
      try {
        if (throttle.take(clientOf(source), result, clock())) {
          write({ at: now(), result, ...source, ...describe() })
        } else lineCounts.add('counted')
        schedule()
      } catch {
        lineCounts.add('dropped')
      }
    },
    async close() {
      clearTimeout(timer)
      writeCounts(true)
      // The first may be a write that began before.
      await table.flush()
      await table.flush()
    },
  }
}

/** As long as all ids of a log: the time, and four random characters. */
function newId(now: Date): string {
  const random = Math.floor(Math.random() * 36 ** 4)
  return `${now.getTime().toString(36)}${random.toString(36).padStart(4, '0')}`
}

const ACCOUNT = 'account '
// Computing one takes microseconds, which each mail would wait for.
const MAX_KNOWN_NETWORKS = 1_000
const networks = openLru<string, string>(MAX_KNOWN_NETWORKS)

function clientOf(source: Source): string {
  if ('account' in source) return `${ACCOUNT}${source.account}`
  return source.ip.includes(':') ? networkOf(source.ip) : source.ip
}

function networkOf(ip: string): string {
  const known = networks.get(ip)
  if (known !== undefined) return known
  const network = rateLimitNetwork(ip)
  networks.set(ip, network)
  return network
}

function sourceOf(client: string): Source {
  return client.startsWith(ACCOUNT) ? { account: client.slice(ACCOUNT.length) } : { ip: client }
}

/** Addresses are as the mode of the log has them. What is empty is left out. */
function lineFacts(line: MailLogLine): LogFacts {
  const { id, command, ip, account, helo, sender, recipients, size, tls, reason, ms, count } = line
  return {
    id: id || undefined,
    command: command || undefined,
    ip: ip || undefined,
    account: account === '' ? undefined : verbatim(account),
    helo: helo || undefined,
    sender: sender === '' ? undefined : verbatim(sender),
    recipients: recipients === '' ? undefined : verbatim(recipients),
    size: size || undefined,
    tls: tls || undefined,
    reason: reason || undefined,
    ms,
    count: count === 1 ? undefined : count,
  }
}

interface WaitingLine {
  line: MailLogLine
  /** At most as many hashes. */
  addresses: number
  /** Computed when it is written: it takes microseconds, and mail waits now. */
  hashes(): string[]
}

// Mail waits for the hashes and the commit of a batch: about 5 ms on SQLite.
const MAX_BATCH = 200
const MAX_BATCH_ADDRESSES = 500
const MAX_WAITING = 5_000

function batchLength(lines: readonly WaitingLine[]): number {
  let addresses = 0
  const end = lines.findIndex((line, at) => {
    addresses += line.addresses
    return at === MAX_BATCH || (at > 0 && addresses > MAX_BATCH_ADDRESSES)
  })
  return end === -1 ? lines.length : end
}

function openTable({ store, log }: Pick<MailLogDeps, 'store' | 'log'>) {
  const waiting: WaitingLine[] = []
  let writing: Promise<void> | undefined
  let isFailing = false

  async function writeBatch(batch: readonly WaitingLine[]): Promise<void> {
    try {
      const fault = await store.storageFault()
      // An outage is reported by those who need the store.
      if (fault?.kind === 'full') throw new Error(fault.reason)
      const lines = batch.map(({ line, hashes }): NewLine => ({ line, hashes: hashes() }))
      await store.addLogLines(lines)
      lineCounts.add('stored', batch.length)
      isFailing = false
    } catch (error) {
      lineCounts.add('dropped', batch.length)
      if (!isFailing) logFault(log, error, 'lines of the mail log are not stored')
      isFailing = !(error instanceof StoreUnavailable)
    }
  }

  async function writeAll(): Promise<void> {
    // What is added meanwhile waits for the next time: a busy thread would write line by line.
    for (let left = waiting.length; left > 0; ) {
      const batch = waiting.splice(0, Math.min(left, batchLength(waiting)))
      await writeBatch(batch)
      left -= batch.length
    }
  }

  return {
    add(line: WaitingLine): void {
      if (waiting.length < MAX_WAITING) waiting.push(line)
      else lineCounts.add('dropped')
    },
    isWriting: () => writing !== undefined,
    /** Writes what waits now, unless it is writing already. Never rejects. */
    flush(): Promise<void> {
      writing ??= writeAll().finally(() => {
        writing = undefined
      })
      return writing
    },
  }
}
