import { eventStreamParser, type ServerSentEvent } from '../../../src/shared/event-stream-parser.ts'
import { chunksOf, NetworkError, request } from '../../site/api-client.ts'
import { withLock } from '../../site/lock.ts'

interface StreamOptions {
  token: string
  /** Id of the newest known message: the stream starts after it. */
  since: number
  signal: AbortSignal
  onOpen(): void
  onEvent(event: ServerSentEvent): void
}

// The first line is sent at once, unless a proxy buffers it; then a heartbeat every 15 s.
const FIRST_DATA_MS = 10_000
const SILENCE_MS = 40_000

let lastDataAt = 0

export function msSinceLastData(): number {
  return Date.now() - lastDataAt
}

/**
 * Reads the event stream until the server ends it. Throws if it cannot be opened, breaks off or goes silent. Not
 * EventSource, which cannot send a bearer token.
 */
export async function readStream(options: StreamOptions): Promise<void> {
  const { token, since, signal, onOpen, onEvent } = options
  const silent = new AbortController()
  const abortSilent = () => silent.abort(new NetworkError('the event stream went silent'))
  let timer = setTimeout(abortSilent, FIRST_DATA_MS)
  try {
    const response = await request('/api/events', {
      token,
      headers: { 'last-event-id': String(since) },
      signal: AbortSignal.any([signal, silent.signal]),
    })
    const parse = eventStreamParser()
    let isOpen = false
    for await (const chunk of chunksOf(response)) {
      if (signal.aborted) return
      clearTimeout(timer)
      timer = setTimeout(abortSilent, SILENCE_MS)
      lastDataAt = Date.now()
      if (!isOpen) onOpen()
      isOpen = true
      for (const event of parse(chunk)) onEvent(event)
    }
  } finally {
    clearTimeout(timer)
    silent.abort()
  }
}

// Over HTTP/1.1 a browser has six connections to a site, shared by all tabs. Each stream occupies one.
const MAX_STREAMS = 4

/** Occupies a connection, until the signal is aborted at the latest. */
type Operation = (until: AbortSignal) => Promise<void>

const NEVER = new AbortController().signal

/** Runs the operation, unless other tabs have too many streams open. */
export async function withStreamSlot(operation: Operation): Promise<'done' | 'none'> {
  if (isMultiplexed()) {
    await operation(NEVER)
    return 'done'
  }
  for (let slot = 1; slot <= MAX_STREAMS; slot += 1) {
    const name = `mayfly stream ${slot}`
    const result = await withLock(name, { ifAvailable: true }, () => operation(NEVER))
    if (result === 'done') return 'done'
    if (result === 'none') return await whileVisible(operation)
  }
  return 'none'
}

/** Without locks we cannot count the streams of other tabs, but few tabs are visible at once. */
async function whileVisible(operation: Operation): Promise<'done' | 'none'> {
  const hidden = new AbortController()
  const abortIfHidden = () => {
    if (document.visibilityState === 'hidden') hidden.abort()
  }
  abortIfHidden()
  if (hidden.signal.aborted) return 'none'
  document.addEventListener('visibilitychange', abortIfHidden)
  try {
    await operation(hidden.signal)
  } catch (error) {
    if (!hidden.signal.aborted) throw error
  } finally {
    document.removeEventListener('visibilitychange', abortIfHidden)
  }
  return hidden.signal.aborted ? 'none' : 'done'
}

/** HTTP/2 and HTTP/3 carry all requests over one connection. */
function isMultiplexed(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return /^h[23]/.test(navigation?.nextHopProtocol ?? '')
}
