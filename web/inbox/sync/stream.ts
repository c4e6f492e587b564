import type { ServerSentEvent } from '../../../src/shared/event-stream-parser.ts'
import type { MessageSummary } from '../../site/api.ts'
import { ApiError, NetworkError } from '../../site/api-client.ts'
import { connectionStatus, messageStore } from '../messages.ts'
import { type Poll, waitForNextPoll } from './poll.ts'
import { delay, endDelays, retryDelaySeconds } from './retry.ts'
import { readStream, withStreamSlot } from './sse.ts'

// Whether the mailbox is full is in the list only: one request for many messages that arrive together.
const POLL_AFTER_MAIL_MS = 5_000
// A stream that is always cut off this soon does not count as working.
const MIN_STREAM_MS = 5_000

/** Polls once while a stream is open; if that fails, so has the stream. */
let verify: ((force: boolean) => Promise<void>) | undefined

/** Polls now, or ends the delay before the next poll. Throws ApiError if we are rate limited. */
export async function pollNow({ force = false } = {}): Promise<void> {
  if (!endDelays()) await verify?.(force)
}

/** Receives mail by the event stream until it ends, or waits for the next poll if other tabs have too many streams open. */
export async function receiveStream(token: string, poll: Poll, ended: AbortSignal): Promise<void> {
  const failed = new AbortController()
  const signal = AbortSignal.any([ended, failed.signal])
  const verifyThis = async (force: boolean) => {
    try {
      await poll({ signal, force })
    } catch (error) {
      // A rate limit says nothing about the stream.
      if (error instanceof ApiError && error.status === 429) throw error
      failed.abort(error)
    }
  }
  verify = verifyThis
  try {
    const result = await withStreamSlot((until) =>
      applyStream(token, poll, AbortSignal.any([signal, until])),
    )
    if (result === 'none') await waitForNextPoll(signal)
  } finally {
    if (verify === verifyThis) verify = undefined
    failed.abort()
  }
}

/** Throws if the stream does not work. */
async function applyStream(token: string, poll: Poll, signal: AbortSignal): Promise<void> {
  let openedAt = Number.POSITIVE_INFINITY
  let pollTimer: ReturnType<typeof setTimeout> | undefined
  let reconnectSeconds: number | undefined
  const onOpen = () => {
    openedAt = Date.now()
    connectionStatus.value = { kind: 'live' }
    // The stream does not repeat deletions from before it was opened.
    verify?.(false).catch(() => undefined)
  }
  const pollAfterMail = () => {
    pollTimer = undefined
    // The stream has just brought mail, so it works, whatever becomes of this request.
    poll({ signal }).catch(() => undefined)
  }
  const onEvent = (event: ServerSentEvent) => {
    applyEvent(event)
    if (event.name === 'shutting_down') reconnectSeconds = Number(event.data) / 1000
    if (event.name === 'message') pollTimer ??= setTimeout(pollAfterMail, POLL_AFTER_MAIL_MS)
  }
  try {
    const since = messageStore.newestId()
    await readStream({ token, since, onOpen, onEvent, signal })
    if (reconnectSeconds === undefined) throw new NetworkError('the event stream was closed')
  } catch (error) {
    // Every stream ends some day: one that lasted has worked.
    if (Date.now() - openedAt < MIN_STREAM_MS) throw error
  } finally {
    clearTimeout(pollTimer)
  }
  // A planned restart: reconnect when asked to, and show nothing meanwhile.
  if (reconnectSeconds !== undefined) {
    await delay(retryDelaySeconds(1, Math.random(), reconnectSeconds), signal)
  }
}

function applyEvent({ name, data }: ServerSentEvent): void {
  if (name === 'message') messageStore.add(JSON.parse(data) as MessageSummary)
  if (name === 'updated') messageStore.update(JSON.parse(data) as MessageSummary)
  if (name !== 'deleted') return
  const { id } = JSON.parse(data) as { id: number }
  messageStore.remove({ ids: [id] })
}
