import { ApiError, type MessageSummary, NetworkError } from '../../site/api-client.ts'
import { connectionStatus, messageStore } from '../messages.ts'
import type { StreamEvent } from './event-stream.ts'
import type { Poller } from './poll.ts'
import { backoffSeconds, delay, endDelays, type Transport } from './retry.ts'
import { readStream, withStreamSlot } from './sse.ts'

interface TransportContext {
  token: string
  look: Poller
  signal: AbortSignal
}

const LONG_POLL_SECONDS = 50
const POLL_SECONDS = 15
const FIRST_POLL_SECONDS = 1
// Mail that comes in numbers is asked about once.
const FULL_CHECK_MS = 5_000
// A stream that is cut off again and again, as soon as it is open, is no way to hear anything.
const MIN_STREAM_MS = 5_000

/** One attempt to hear of new mail by this way. Throws when it does not work. */
export async function runTransport(
  way: Transport,
  { token, look, signal }: TransportContext,
): Promise<void> {
  const givenUp = new AbortController()
  const context = { token, look, signal: AbortSignal.any([signal, givenUp.signal]) }
  const verifyThis = async (force: boolean) => {
    try {
      await look({ signal: context.signal, force })
    } catch (fault) {
      // Too many questions say nothing about the way.
      if (fault instanceof ApiError && fault.status === 429) throw fault
      givenUp.abort(fault)
    }
  }
  verifyTransport = verifyThis
  try {
    await TRANSPORTS[way](context)
  } catch (fault) {
    if (!isShutdown(fault)) throw fault
    // Nothing is wrong: we come back when it asks us to, to it or to another in its place, and say nothing meanwhile.
    await delay(backoffSeconds(1, Math.random(), fault.retrySeconds), context.signal)
  } finally {
    if (verifyTransport === verifyThis) verifyTransport = undefined
    givenUp.abort()
  }
}

let verifyTransport: ((force: boolean) => Promise<void>) | undefined

/** Asks the server now. When it does not answer, the way that seemed to work is given up. Throws when we ask too often. */
export async function pollNow({ force = false } = {}): Promise<void> {
  if (!endDelays()) await verifyTransport?.(force)
}

const TRANSPORTS: Record<Transport, (deps: TransportContext) => Promise<void>> = {
  async stream(deps) {
    const { token, look, signal } = deps
    let openedAt = Number.POSITIVE_INFINITY
    const onOpen = () => {
      openedAt = Date.now()
      connectionStatus.value = { kind: 'live' }
      // What was deleted just before the stream began is told by nobody else.
      verifyTransport?.(false).catch(() => undefined)
    }
    let fullTimer: ReturnType<typeof setTimeout> | undefined
    let shutdown: ApiError | undefined
    const onEvent = (event: StreamEvent) => {
      applyEvent(event)
      if (event.kind === 'goodbye') shutdown = shutdownError(Number(event.text) / 1000)
      if (event.kind === 'message') fullTimer ??= setTimeout(checkFull, FULL_CHECK_MS)
    }
    const checkFull = () => {
      fullTimer = undefined
      look.full(signal).catch(() => undefined)
    }
    const stream = { token, since: messageStore.newestId(), onOpen, onEvent }
    const streamUntil = (until: AbortSignal) =>
      readStream({ ...stream, signal: AbortSignal.any([signal, until]) })
    try {
      if ((await withStreamSlot(streamUntil)) === 'none') await TRANSPORTS.look(deps)
      else throw shutdown ?? new NetworkError('the stream was cut off')
    } catch (fault) {
      // Every stream ends some day; one that has served for a while was not at fault.
      if (fault === shutdown || Date.now() - openedAt < MIN_STREAM_MS) throw fault
    } finally {
      clearTimeout(fullTimer)
    }
  },

  async wait({ look, signal }) {
    connectionStatus.value = { kind: 'waiting' }
    if (!look.canWait()) await delay(FIRST_POLL_SECONDS, signal)
    await look({ signal, wait: look.canWait() ? LONG_POLL_SECONDS : 0 })
  },

  async look({ signal }) {
    connectionStatus.value = { kind: 'looking', seconds: POLL_SECONDS }
    await delay(POLL_SECONDS, signal)
  },
}

function applyEvent({ kind, text }: StreamEvent): void {
  if (kind === 'message') messageStore.add(JSON.parse(text) as MessageSummary)
  if (kind === 'updated') messageStore.update(JSON.parse(text) as MessageSummary)
  if (kind === 'deleted') messageStore.remove(new Set([(JSON.parse(text) as { id: number }).id]))
}

function shutdownError(seconds: number): ApiError {
  return new ApiError(503, { code: 'shutting_down', message: 'The server stops.' }, seconds)
}

function isShutdown(fault: unknown): fault is ApiError {
  return fault instanceof ApiError && fault.code === 'shutting_down'
}
