import { NetworkError, request } from '../../site/api-client.ts'
import { eventReader, type StreamEvent } from './event-stream.ts'

interface StreamOptions {
  token: string
  /** The newest message that is known: the stream begins after it. */
  since: number
  signal: AbortSignal
  onOpen(): void
  onEvent(event: StreamEvent): void
}

// The first line comes at once, unless something on the way holds it back; then a beat every 15 s.
const FIRST_DATA_MS = 10_000
const SILENCE_MS = 40_000

let lastDataAt = 0

/** How long ago the stream last showed that it lives. */
export function msSinceLastData(): number {
  return Date.now() - lastDataAt
}

/** The live stream, until the server ends it. Throws when it cannot be had, breaks off or falls silent. */
export async function readStream({
  token,
  since,
  signal,
  onOpen,
  onEvent,
}: StreamOptions): Promise<void> {
  const dead = new AbortController()
  const abortSilent = () => dead.abort(new NetworkError('the stream fell silent'))
  let watch = setTimeout(abortSilent, FIRST_DATA_MS)
  const onChunk = () => {
    clearTimeout(watch)
    watch = setTimeout(abortSilent, SILENCE_MS)
    lastDataAt = Date.now()
  }
  try {
    const { body } = await request('/api/events', {
      token,
      headers: { 'last-event-id': String(since) },
      signal: AbortSignal.any([signal, dead.signal]),
    })
    const take = eventReader()
    let open = false
    for await (const piece of chunks(body)) {
      if (signal.aborted) return
      onChunk()
      if (!open) onOpen()
      open = true
      for (const event of take(piece)) onEvent(event)
    }
  } finally {
    clearTimeout(watch)
    dead.abort()
  }
}

async function* chunks(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
): AsyncGenerator<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  while (reader) {
    const { done, value } = await readChunk(reader)
    if (done) return
    yield value
  }
}

async function readChunk(reader: ReadableStreamDefaultReader<string>) {
  try {
    return await reader.read()
  } catch (cause) {
    throw new NetworkError('the stream broke off', { cause })
  }
}

// Over HTTP/1.1 a browser has six connections to a site, for all tabs together. Each stream holds one for good.
const MAX_STREAMS = 4

/** What holds a connection, until the signal at the latest. */
type Operation = (until: AbortSignal) => Promise<void>

const NEVER = new AbortController().signal

/** Runs what holds a connection, unless other tabs hold too many already. */
export async function withStreamSlot(operation: Operation): Promise<'done' | 'none'> {
  if (isMultiplexed()) {
    await operation(NEVER)
    return 'done'
  }
  const { locks } = navigator as { locks?: LockManager }
  if (!locks) return await whileVisible(operation)
  let begun = false
  const inSlot = async (lock: Lock | null) => {
    begun = lock !== null
    if (begun) await operation(NEVER)
  }
  try {
    for (let slot = 1; slot <= MAX_STREAMS && !begun; slot += 1) {
      await locks.request(`mayfly stream ${slot}`, { ifAvailable: true }, inSlot)
    }
  } catch (fault) {
    if (begun) throw fault
    // A browser that keeps nothing for this site gives out no locks either.
    return await whileVisible(operation)
  }
  return begun ? 'done' : 'none'
}

/** Nobody says what other tabs hold, but few are in sight at once. */
async function whileVisible(operation: Operation): Promise<'done' | 'none'> {
  const hidden = new AbortController()
  const watch = () => {
    if (document.visibilityState === 'hidden') hidden.abort()
  }
  watch()
  if (hidden.signal.aborted) return 'none'
  document.addEventListener('visibilitychange', watch)
  try {
    await operation(hidden.signal)
  } catch (fault) {
    if (!hidden.signal.aborted) throw fault
  } finally {
    document.removeEventListener('visibilitychange', watch)
  }
  return hidden.signal.aborted ? 'none' : 'done'
}

/** HTTP/2 and later carry everything over one. */
function isMultiplexed(): boolean {
  const [opening] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return /^h[23]/.test(opening?.nextHopProtocol ?? '')
}
