import { effect, signal } from '@preact/signals'
import { isExpired, type Mailbox } from '../../address/mailbox.ts'
import { currentMailbox, markExpired } from '../../address/mailboxes.ts'
import { serverNow } from '../../address/server-clock.ts'
import { announce, announceQuietly } from '../../site/announce.ts'
import { ApiError, errorText, NetworkError } from '../../site/api-client.ts'
import { t } from '../../site/i18n.ts'
import { type ConnectionStatus, connectionStatus, messageStore, unreadCount } from '../messages.ts'
import { createPoll, waitForNextPoll } from './poll.ts'
import { delay, retryDelaySeconds } from './retry.ts'
import { msSinceLastData } from './sse.ts'
import { pollNow, receiveStream } from './stream.ts'

// Heartbeats come every 15 s.
const STALE_MS = 20_000

/** Keeps the message list in sync with the current mailbox, whichever that is. A restored mailbox is synced again. */
export function startSync(): void {
  let running: AbortController | undefined
  let token: string | undefined

  effect(() => {
    const mailbox = currentMailbox.value
    const hasEnded = connectionStatus.peek().kind === 'ended'
    const isRestored = hasEnded && mailbox !== undefined && !isExpired(mailbox, serverNow())
    if (mailbox?.token === token && !isRestored) return
    running?.abort()
    token = mailbox?.token
    messageStore.reset()
    if (!mailbox) return
    running = new AbortController()
    void syncUntilExpired(mailbox, running.signal)
  })

  const poll = () => void pollNow().catch(() => undefined)
  addEventListener('online', poll)
  // The server may still be reachable, on a local network for example.
  addEventListener('offline', poll)
  document.addEventListener('visibilitychange', () => {
    const isStale = connectionStatus.peek().kind !== 'live' || msSinceLastData() > STALE_MS
    if (document.visibilityState === 'visible' && isStale) poll()
  })
}

async function syncUntilExpired(mailbox: Mailbox, signal: AbortSignal): Promise<void> {
  try {
    await syncMailbox(mailbox, signal)
  } catch (error) {
    if (signal.aborted) return
    throw error
  }
  if (signal.aborted) return
  messageStore.reset()
  connectionStatus.value = { kind: 'ended' }
  markExpired(mailbox)
}

// Failures of the stream in a row, while plain requests succeed.
const MAX_FAILURES = 2
const RETRY_STREAM_MS = 5 * 60_000

/** By stream; by polling at intervals where streams do not work, for example because a proxy buffers them. Returns when the session has ended. */
async function syncMailbox({ token }: Mailbox, signal: AbortSignal): Promise<void> {
  const poll = createPoll(token)
  let failures = 0
  let hasFailed = false
  let retryStreamAt = 0

  while (!signal.aborted) {
    // A plain poll first: only if that succeeds at once is the stream to blame for a failure.
    const polled = await pollUntilAnswered(() => poll({ signal }), signal)
    if (polled === 'ended') return
    if (hasFailed && polled === 'at once') {
      failures += 1
      retryStreamAt = failures < MAX_FAILURES ? 0 : Date.now() + RETRY_STREAM_MS
    }
    hasFailed = false
    if (Date.now() < retryStreamAt) {
      await waitForNextPoll(signal)
      continue
    }
    hasFailed = (await networkErrorOf(() => receiveStream(token, poll, signal))) !== undefined
    if (!hasFailed) failures = 0
  }
}

/** Retries until there is a response, and shows the reason meanwhile. */
async function pollUntilAnswered(
  poll: () => Promise<void>,
  signal: AbortSignal,
): Promise<'at once' | 'late' | 'ended'> {
  for (let failures = 0; ; failures += 1) {
    const error = await networkErrorOf(poll)
    signal.throwIfAborted()
    if (error === undefined) return failures === 0 ? 'at once' : 'late'
    const problem = problemFrom(error, failures + 1)
    connectionStatus.value = problem
    if (problem.kind === 'ended') return 'ended'
    const seconds = (problem.until - Date.now()) / 1000
    await delay(seconds, signal, { isFixed: problem.kind === 'limited' })
  }
}

/** Returns an error of the network or the server; any other is a bug and is thrown. */
async function networkErrorOf(operation: () => Promise<void>): Promise<Error | undefined> {
  try {
    await operation()
    return undefined
  } catch (error) {
    if (error instanceof ApiError || error instanceof NetworkError) return error
    // Aborted, by us or by a timeout.
    if (error instanceof DOMException) return error
    throw error
  }
}

type ConnectionProblem = Extract<ConnectionStatus, { until: number } | { kind: 'ended' }>

function problemFrom(error: Error, failures: number): ConnectionProblem {
  const apiError = error instanceof ApiError ? error : undefined
  if (apiError?.status === 401) return { kind: 'ended' }
  const seconds = retryDelaySeconds(failures, Math.random(), apiError?.retrySeconds)
  const until = Date.now() + seconds * 1000
  if (apiError?.status === 429) return { kind: 'limited', until }
  return { kind: navigator.onLine || apiError ? 'unreachable' : 'offline', until }
}

/** True while a refresh requested by the user is running. */
export const refreshing = signal(false)

/** Polls now; for a Gmail alias, Gmail too. */
export async function refresh(): Promise<void> {
  if (refreshing.value) return
  refreshing.value = true
  try {
    await pollNow({ force: true })
    announceQuietly(t('inbox_checked', { count: unreadCount.value }))
  } catch (error) {
    announce(errorText(error))
  } finally {
    refreshing.value = false
  }
}
