import { batch, effect, signal } from '@preact/signals'
import { isExpired } from '../../address/mailbox.ts'
import { currentMailbox, mailboxes, rulesByAddress } from '../../address/mailboxes.ts'
import { serverNow } from '../../address/server-clock.ts'
import { announce, announceQuietly } from '../../site/announce.ts'
import { ApiError, errorText, NetworkError } from '../../site/api-client.ts'
import { t } from '../../site/i18n.ts'
import {
  actionLinks,
  type ConnectionStatus,
  endedToken,
  messageStore,
  transport,
  unreadCount,
} from '../messages.ts'
import { clearSearch, isAllShown } from '../rows.ts'
import { pollCurrent, waitForNextPoll } from './poll.ts'
import { delay, retryDelaySeconds } from './retry.ts'
import { liveMailboxes, msSinceLastData, pollNow, pollUncovered, receiveStream } from './stream.ts'

// Heartbeats come every 15 s.
const STALE_MS = 20_000
const SLOW_POLL_MS = 60_000

/** Keeps the lists of all addresses in sync with the server. A restored address is synced again. */
export function startSync(): void {
  const poll = () => void pollNow().catch(() => undefined)

  let token: string | undefined
  effect(() => {
    const mailbox = currentMailbox.value
    const hasEnded = mailbox !== undefined && mailbox.token === endedToken.value
    const isRestored = hasEnded && !isExpired(mailbox, serverNow())
    if (mailbox?.token === token && !isRestored) return
    token = mailbox?.token
    batch(() => {
      if (!isAllShown.peek()) clearSearch()
      actionLinks.value = new Map()
      endedToken.value = undefined
    })
    poll()
  })
  mailboxes.subscribe((all) => messageStore.retain(all.map(({ email }) => email)))

  addEventListener('online', poll)
  // The server may still be reachable, on a local network for example.
  addEventListener('offline', poll)
  const isVisible = () => document.visibilityState === 'visible'
  document.addEventListener('visibilitychange', () => {
    const isStale = transport.peek().kind !== 'live' || msSinceLastData() > STALE_MS
    if (isVisible() && isStale) poll()
    if (isVisible()) pollUncovered()
  })
  setInterval(() => {
    if (!isVisible()) return
    // No event tells that rules have refused a mail.
    if (rulesByAddress.peek().has(currentMailbox.peek()?.email ?? '')) poll()
    pollUncovered()
  }, SLOW_POLL_MS)
  void sync()
}

// Failures of the stream in a row, while plain requests succeed.
const MAX_FAILURES = 2
const RETRY_STREAM_MS = 5 * 60_000

/** By stream; by polling at intervals where streams do not work, for example because a proxy buffers them. */
async function sync(): Promise<never> {
  let failures = 0
  let hasFailed = false
  let retryStreamAt = 0

  for (;;) {
    await hasMailbox()
    // A plain poll first: only if that succeeds at once is the stream to blame for a failure.
    const isAtOnce = await pollUntilAnswered()
    if (hasFailed && isAtOnce) {
      failures += 1
      retryStreamAt = failures < MAX_FAILURES ? 0 : Date.now() + RETRY_STREAM_MS
    }
    hasFailed = false
    if (liveMailboxes.peek().length === 0) continue
    if (Date.now() < retryStreamAt) {
      await waitWithoutStream()
      continue
    }
    hasFailed = (await networkErrorOf(receiveStream)) !== undefined
    if (!hasFailed) failures = 0
  }
}

const NEVER = new AbortController().signal

async function waitWithoutStream(): Promise<void> {
  const isFirst = transport.peek().kind !== 'looking'
  const next = waitForNextPoll(NEVER)
  if (isFirst) pollUncovered()
  await next
}

/** Resolves as soon as there is a live address. */
function hasMailbox(): Promise<void> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (liveMailboxes.value.length === 0) return
      resolve()
      queueMicrotask(() => stop())
    })
  })
}

/** Retries until there is a response, and shows the reason meanwhile. True if the first request was answered. */
async function pollUntilAnswered(): Promise<boolean> {
  for (let failures = 0; ; failures += 1) {
    const error = await networkErrorOf(() => pollCurrent())
    if (error === undefined) return failures === 0
    const problem = problemFrom(error, failures + 1)
    transport.value = problem
    const seconds = (problem.until - Date.now()) / 1000
    await delay(seconds, NEVER, { isFixed: problem.kind === 'limited' })
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

type ConnectionProblem = Extract<ConnectionStatus, { until: number }>

function problemFrom(error: Error, failures: number): ConnectionProblem {
  const apiError = error instanceof ApiError ? error : undefined
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
