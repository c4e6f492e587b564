import { setTimeout as sleep } from 'node:timers/promises'
import { maskAddress } from '../../base/address.ts'
import { logFault } from '../../base/jobs/outage.ts'
import type { AccountHealth } from '../rules.ts'
import { openBudget } from './budget.ts'
import { type ImapConnection, openConnector } from './connection.ts'
import { ImapError, type ImapErrorKind, retryDelayMs } from './errors.ts'
import type { FetchContext } from './fetch.ts'
import { listFolders, specialFolders } from './folders.ts'
import {
  type AccountOptions,
  type AccountTiming,
  DEFAULT_LIMITS,
  DEFAULT_TIMING,
  type ImapDeps,
} from './options.ts'
import { openPoisonMails } from './poison-mails.ts'
import { openWakeSignal, runPollLoop, type WakeSignal } from './poll-loop.ts'
import { openRemovals } from './removal.ts'

/** Fetches mail for an account's aliases over one persistent connection until closed. */
export function openAccount(deps: ImapDeps, account: AccountOptions): { close(): Promise<void> } {
  const closing = new AbortController()
  const timing = { ...DEFAULT_TIMING, ...account.timing }
  const wakeSignal = openWakeSignal()
  const unsubscribe = deps.onPollRequest(() => wakeSignal.wake('other'))
  const done = runAccount({ deps, account, timing, wakeSignal, signal: closing.signal })
  return {
    async close() {
      unsubscribe()
      closing.abort()
      wakeSignal.wake('other')
      await done
    },
  }
}

interface AccountRun {
  deps: ImapDeps
  account: AccountOptions
  timing: AccountTiming
  wakeSignal: WakeSignal
  signal: AbortSignal
}

// A connection that lasted this long resets the failure count: Gmail closes every connection after about an hour.
const STABLE_MS = 60_000
// Brief network failures and server restarts are not reported.
const QUIET_FAILURES = 2
const TRANSIENT: readonly ImapErrorKind[] = ['lost', 'unreachable', 'invalid-data']

async function runAccount(run: AccountRun): Promise<void> {
  const { deps, account, timing, signal } = run
  const reportHealth = healthReporter(deps, maskAddress(account.email))
  const connectOnce = connectionRunner(run, reportHealth)
  let failures = 0
  let wasHealthy = false
  await reportHealth('starting', '')
  while (!signal.aborted) {
    const { error, healthyMs, progressed } = await connectOnce()
    if (signal.aborted) return
    const isTransient = TRANSIENT.includes(error.kind)
    wasHealthy ||= healthyMs !== undefined
    const wasUseful =
      (healthyMs !== undefined && healthyMs >= STABLE_MS) || (progressed && isTransient)
    failures = wasUseful ? 1 : failures + 1
    if (!wasHealthy || failures > QUIET_FAILURES || !isTransient) {
      wasHealthy = false
      await reportHealth('failing', error.message)
    }
    const random = deps.random()
    const ms = retryDelayMs(error.kind, failures, { retryMs: timing.retryMs, random })
    await sleep(ms, undefined, { signal }).catch(() => {})
  }
}

interface ConnectionResult {
  error: ImapError
  /** Time since the first complete poll; undefined if there was none. */
  healthyMs: number | undefined
  /** True if mail was processed. A mail that breaks connections must cost only its own retries, not a growing delay. */
  progressed: boolean
}

function connectionRunner(
  { deps, account, timing, wakeSignal, signal }: AccountRun,
  reportHealth: ImapDeps['reportHealth'],
): () => Promise<ConnectionResult> {
  const masked = maskAddress(account.email)
  const limits = { ...DEFAULT_LIMITS, ...account.limits }
  const onChange = () => wakeSignal.wake('push')
  const connect = openConnector(account, { limits, timing, onChange, signal }, deps.now)
  // Outlive a connection: the server's quota and unreadable mails do, too.
  const budget = openBudget(limits)
  const poisonMails = openPoisonMails()
  const removals = account.deleteAfterFetch ? openRemovals(masked, deps.log) : undefined

  function contextFor(connection: ImapConnection, onProgress: () => void): FetchContext {
    return {
      deps,
      account: { email: account.email, masked },
      connection,
      budget,
      poisonMails,
      limits,
      bodyTimeoutMs: 4 * timing.commandTimeoutMs,
      retryDelayMs: timing.retryMs.lost,
      onProgress,
      signal,
      onFetched: (folder, uid) => removals?.add(folder, uid),
    }
  }

  return async function connectOnce(): Promise<ConnectionResult> {
    let connection: ImapConnection | undefined
    let healthySince: number | undefined
    let progressed = false
    let error = new ImapError('lost', 'connection closed')
    try {
      connection = await connect()
      const context = contextFor(connection, () => {
        progressed = true
      })
      await runPollLoop({
        context,
        wakeSignal,
        removals,
        timing,
        random: deps.random,
        async onPolled(pause) {
          healthySince ??= deps.now().getTime()
          await reportHealth(pause ? 'slow' : 'ok', pause?.reason ?? '')
        },
      })
    } catch (thrown) {
      error = thrown instanceof ImapError ? thrown : internalError(thrown, masked, deps)
    } finally {
      await connection?.close()
    }
    const healthyMs = healthySince === undefined ? undefined : deps.now().getTime() - healthySince
    return { error, healthyMs, progressed }
  }
}

/** We could not process or store a mail; retried like a lost connection. */
function internalError(error: unknown, account: string, { log }: ImapDeps): ImapError {
  logFault(log, error, 'failed to process or store fetched mail; retrying', { account })
  return new ImapError('lost', 'fetched mail cannot be processed or stored at the moment')
}

const HEALTH_MESSAGES: Record<AccountHealth, string> = {
  starting: 'connecting to mail account',
  ok: 'polling mail account',
  slow: 'polling of mail account throttled',
  failing: 'polling of mail account failed; retrying',
}

/** Stores and logs each change of an account's health once. */
function healthReporter(
  { reportHealth, log }: ImapDeps,
  account: string,
): ImapDeps['reportHealth'] {
  let lastReport = ''
  return async (health, reason) => {
    const report = `${health} ${reason}`
    if (report === lastReport) return
    lastReport = report
    const facts = reason ? { account, reason } : { account }
    log[health === 'failing' ? 'warn' : 'info'](facts, HEALTH_MESSAGES[health])
    try {
      await reportHealth(health, reason)
    } catch (error) {
      // Fetching continues, and the next report is not skipped.
      lastReport = ''
      logFault(log, error, 'failed to store account health', { account })
    }
  }
}

const NEVER = new AbortController().signal

/** Logs in, lists the folders and logs out. Changes nothing in the account. */
export async function testAccount(account: AccountOptions) {
  try {
    const test = async (connection: ImapConnection) => {
      const folders = await listFolders(connection)
      const { hasIdle: idle, isGmail: gmail } = connection
      return { ok: true as const, folders, ...specialFolders(folders), idle, gmail }
    }
    return await withConnection(account, test)
  } catch (error) {
    if (error instanceof ImapError) return { ok: false as const, reason: error.message }
    throw error
  }
}

/** Logs in, runs the operation and logs out. */
export async function withConnection<T>(
  account: AccountOptions,
  operation: (connection: ImapConnection) => Promise<T>,
): Promise<T> {
  const timing = { ...DEFAULT_TIMING, ...account.timing }
  const limits = { ...DEFAULT_LIMITS, ...account.limits }
  const options = { timing, limits, onChange() {}, signal: NEVER }
  const connection = await openConnector(account, options, () => new Date())()
  try {
    return await operation(connection)
  } finally {
    await connection.close()
  }
}
