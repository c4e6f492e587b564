import { eventStreamParser, type ServerSentEvent } from '../../../src/shared/event-stream-parser.ts'
import { chunksOf, NetworkError, request } from '../../site/api-client.ts'

interface StreamOptions {
  /** Of one or several addresses. */
  tokens: readonly string[]
  /** For each of them, the id of the newest known message: the stream starts after it; empty: now. */
  since: readonly (number | '')[]
  signal: AbortSignal
  /** At the first data, and at each later chunk. */
  onOpen(): void
  onData(): void
  onEvent(event: ServerSentEvent): void
}

// The first line is sent at once, unless a proxy buffers it; then a heartbeat every 15 s.
export const FIRST_DATA_MS = 10_000
export const SILENCE_MS = 40_000

/**
 * Reads the event stream until the server ends it. Throws if it cannot be opened, breaks off or goes silent. Not
 * EventSource, which cannot send a bearer token.
 */
export async function readStream(options: StreamOptions): Promise<void> {
  const { tokens, since, signal, onOpen, onData, onEvent } = options
  const silent = new AbortController()
  const abortSilent = () => silent.abort(new NetworkError('the event stream went silent'))
  let timer = setTimeout(abortSilent, FIRST_DATA_MS)
  try {
    const response = await request('/api/events', {
      token: tokens.join(),
      headers: { 'last-event-id': since.join() },
      signal: AbortSignal.any([signal, silent.signal]),
    })
    const parse = eventStreamParser()
    let isOpen = false
    for await (const chunk of chunksOf(response)) {
      if (signal.aborted) return
      clearTimeout(timer)
      timer = setTimeout(abortSilent, SILENCE_MS)
      onData()
      if (!isOpen) onOpen()
      isOpen = true
      for (const event of parse(chunk)) onEvent(event)
    }
  } finally {
    clearTimeout(timer)
    silent.abort()
  }
}

/** Runs the operation while the page is visible; false if it was hidden before the operation ended. */
export async function whileVisible(
  operation: (until: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const hidden = new AbortController()
  const abortIfHidden = () => {
    if (document.visibilityState === 'hidden') hidden.abort()
  }
  abortIfHidden()
  if (hidden.signal.aborted) return false
  document.addEventListener('visibilitychange', abortIfHidden)
  try {
    await operation(hidden.signal)
  } catch (error) {
    if (!hidden.signal.aborted) throw error
  } finally {
    document.removeEventListener('visibilitychange', abortIfHidden)
  }
  return !hidden.signal.aborted
}
