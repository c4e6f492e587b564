import { effect, signal } from '@preact/signals'
import { isExpired, type Mailbox } from '../../address/mailbox.ts'
import { currentMailbox, markExpired } from '../../address/mailboxes.ts'
import { announce, announceQuietly } from '../../site/announce.ts'
import { ApiError, errorText, NetworkError } from '../../site/api-client.ts'
import { t } from '../../site/i18n.ts'
import { type ConnectionStatus, connectionStatus, messageStore, unreadCount } from '../messages.ts'
import { createPoller } from './poll.ts'
import {
  afterFailure,
  backoffSeconds,
  delay,
  type FallbackState,
  INITIAL,
  upgrade,
} from './retry.ts'
import { msSinceLastData } from './sse.ts'
import { pollNow, runTransport } from './transport.ts'

// A beat comes every 15 s: without one for longer, who comes back to the page wants to know.
const STALE_MS = 20_000

/** Follows the mailbox that is on the page, and another when that changes; also one that was over and came back. */
export function startSync(): void {
  let stop: AbortController | undefined
  let token: string | undefined

  effect(() => {
    const mailbox = currentMailbox.value
    const revived = isSessionEnded() && mailbox !== undefined && !isExpired(mailbox, Date.now())
    if (mailbox?.token === token && !revived) return
    stop?.abort()
    token = mailbox?.token
    messageStore.reset()
    if (!mailbox) return
    stop = new AbortController()
    void syncUntilExpired(mailbox, stop.signal)
  })

  addEventListener('online', poll)
  // It may be that only the wider net is away, and the server is here.
  addEventListener('offline', poll)
  document.addEventListener('visibilitychange', () => {
    const isStale = connectionStatus.peek().kind !== 'live' || msSinceLastData() > STALE_MS
    if (document.visibilityState === 'visible' && isStale) poll()
  })
}

function poll(): void {
  pollNow().catch(() => undefined)
}

function isSessionEnded(): boolean {
  return connectionStatus.peek().kind === 'ended'
}

async function syncUntilExpired(mailbox: Mailbox, signal: AbortSignal): Promise<void> {
  try {
    await syncMailbox(mailbox, signal)
  } catch (fault) {
    if (signal.aborted) return
    throw fault
  }
  if (signal.aborted) return
  messageStore.reset()
  connectionStatus.value = { kind: 'ended' }
  markExpired(mailbox)
}

const UPGRADE_AFTER_MS = 5 * 60_000

/** Hears of all that happens to a mailbox, by whatever way there is. Returns when its session is over. */
export async function syncMailbox({ token }: Mailbox, signal: AbortSignal): Promise<void> {
  const look = createPoller(token)
  let fallback: FallbackState = INITIAL
  let upgradeAt = Number.POSITIVE_INFINITY
  let failed = false
  let polled = false

  while (!signal.aborted) {
    // A plain question first: only while those are answered can it be the way that fails.
    const answer = polled ? 'at once' : await pollUntilAnswered(() => look({ signal }), signal)
    if (answer === 'ended') return
    if (failed && answer === 'at once') {
      fallback = afterFailure(fallback)
      upgradeAt = Date.now() + UPGRADE_AFTER_MS
    } else if (Date.now() >= upgradeAt) {
      fallback = upgrade(fallback)
      upgradeAt = Number.POSITIVE_INFINITY
    }
    const { way } = fallback
    failed = (await networkErrorOf(() => runTransport(way, { token, look, signal }))) !== undefined
    if (!failed) fallback = { way, failures: 0 }
    polled = way === 'wait' && !failed
  }
}

/** Asks until there is an answer, and says meanwhile what is in the way. */
async function pollUntilAnswered(
  look: () => Promise<void>,
  signal: AbortSignal,
): Promise<'at once' | 'late' | 'ended'> {
  for (let misses = 0; ; misses += 1) {
    const fault = await networkErrorOf(look)
    signal.throwIfAborted()
    if (fault === undefined) return misses === 0 ? 'at once' : 'late'
    const problem = problemFrom(fault, misses + 1)
    connectionStatus.value = problem
    if (problem.kind === 'ended') return 'ended'
    const seconds = (problem.until - Date.now()) / 1000
    await delay(seconds, signal, { firm: problem.kind === 'limited' })
  }
}

/** What a deed threw, if it is of the network or the server. Anything else is a fault of this page, and rises. */
async function networkErrorOf(operation: () => Promise<void>): Promise<Error | undefined> {
  try {
    await operation()
    return undefined
  } catch (fault) {
    if (fault instanceof ApiError || fault instanceof NetworkError) return fault
    // Aborted, by us or by the clock.
    if (fault instanceof DOMException) return fault
    throw fault
  }
}

type ConnectionProblem = Extract<ConnectionStatus, { until: number } | { kind: 'ended' }>

function problemFrom(fault: Error, misses: number): ConnectionProblem {
  const refusal = fault instanceof ApiError ? fault : undefined
  if (refusal?.status === 401) return { kind: 'ended' }
  const seconds = backoffSeconds(misses, Math.random(), refusal?.retrySeconds)
  const until = Date.now() + seconds * 1000
  if (refusal?.status === 429) return { kind: 'limited', until }
  return { kind: navigator.onLine || refusal ? 'away' : 'offline', until }
}

/** True while the server is asked because the reader wished so. */
export const refreshing = signal(false)

/** Asks the server now; of a Gmail alias, Gmail too. */
export async function refresh(): Promise<void> {
  if (refreshing.value) return
  refreshing.value = true
  try {
    await pollNow({ force: true })
    announceQuietly(t('inbox_told_looked', { count: unreadCount.value }))
  } catch (fault) {
    announce(errorText(fault))
  } finally {
    refreshing.value = false
  }
}
