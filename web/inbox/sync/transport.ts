import type { ServerSentEvent } from '../../../src/shared/event-stream-parser.ts'
import { ApiError, type MessageSummary, NetworkError } from '../../site/api-client.ts'
import { connectionStatus, messageStore } from '../messages.ts'
import type { Poller } from './poll.ts'
import { delay, endDelays, retryDelaySeconds, type Transport } from './retry.ts'
import { readStream, withStreamSlot } from './sse.ts'

interface TransportContext {
  token: string
  poller: Poller
  signal: AbortSignal
}

const LONG_POLL_SECONDS = 50
const POLL_SECONDS = 15
const FIRST_POLL_SECONDS = 1
// One request for many messages that arrive together.
const FULL_CHECK_MS = 5_000
// A stream that is always cut off this soon does not count as working.
const MIN_STREAM_MS = 5_000

/** Receives mail over this transport until it ends. Throws if the transport does not work. */
export async function runTransport(
  transport: Transport,
  { token, poller, signal }: TransportContext,
): Promise<void> {
  const failed = new AbortController()
  const context = { token, poller, signal: AbortSignal.any([signal, failed.signal]) }
  const verifyThis = async (force: boolean) => {
    try {
      await poller.poll({ signal: context.signal, force })
    } catch (error) {
      // A rate limit says nothing about the transport.
      if (error instanceof ApiError && error.status === 429) throw error
      failed.abort(error)
    }
  }
  verify = verifyThis
  try {
    await TRANSPORTS[transport](context)
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'shutting_down')) throw error
    // A planned restart, not a failure: reconnect when asked to, and show nothing meanwhile.
    await delay(retryDelaySeconds(1, Math.random(), error.retrySeconds), context.signal)
  } finally {
    if (verify === verifyThis) verify = undefined
    failed.abort()
  }
}

/** Polls once while a transport is running; if that fails, so has the transport. */
let verify: ((force: boolean) => Promise<void>) | undefined

/** Polls now, or ends the delay before the next poll. Throws ApiError if we are rate limited. */
export async function pollNow({ force = false } = {}): Promise<void> {
  if (!endDelays()) await verify?.(force)
}

const TRANSPORTS: Record<Transport, (context: TransportContext) => Promise<void>> = {
  async stream(context) {
    const { token, poller, signal } = context
    let openedAt = Number.POSITIVE_INFINITY
    let fullTimer: ReturnType<typeof setTimeout> | undefined
    let shutdown: ApiError | undefined
    const onOpen = () => {
      openedAt = Date.now()
      connectionStatus.value = { kind: 'live' }
      // The stream does not repeat deletions from before it was opened.
      verify?.(false).catch(() => undefined)
    }
    const checkFull = () => {
      fullTimer = undefined
      poller.checkFull(signal).catch(() => undefined)
    }
    const onEvent = (event: ServerSentEvent) => {
      applyEvent(event)
      if (event.name === 'shutting_down') shutdown = shutdownError(Number(event.data) / 1000)
      if (event.name === 'message') fullTimer ??= setTimeout(checkFull, FULL_CHECK_MS)
    }
    const stream = { token, since: messageStore.newestId(), onOpen, onEvent }
    try {
      const result = await withStreamSlot((until) =>
        readStream({ ...stream, signal: AbortSignal.any([signal, until]) }),
      )
      if (result === 'none') await TRANSPORTS.poll(context)
      else throw shutdown ?? new NetworkError('the event stream was closed')
    } catch (error) {
      // Every stream ends some day: one that lasted has worked.
      if (error === shutdown || Date.now() - openedAt < MIN_STREAM_MS) throw error
    } finally {
      clearTimeout(fullTimer)
    }
  },

  async 'long-poll'({ poller, signal }) {
    connectionStatus.value = { kind: 'waiting' }
    if (!poller.canWait()) await delay(FIRST_POLL_SECONDS, signal)
    await poller.poll({ signal, wait: poller.canWait() ? LONG_POLL_SECONDS : 0 })
  },

  // The sync loop polls before each round.
  async poll({ signal }) {
    connectionStatus.value = { kind: 'looking', seconds: POLL_SECONDS }
    await delay(POLL_SECONDS, signal)
  },
}

function applyEvent({ name, data }: ServerSentEvent): void {
  if (name === 'message') messageStore.add(JSON.parse(data) as MessageSummary)
  if (name === 'updated') messageStore.update(JSON.parse(data) as MessageSummary)
  if (name !== 'deleted') return
  const { id } = JSON.parse(data) as { id: number }
  messageStore.remove({ ids: [id] })
}

function shutdownError(seconds: number): ApiError {
  return new ApiError(503, { code: 'shutting_down', message: 'Shutting down' }, seconds)
}
