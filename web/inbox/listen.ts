import { send, Unreachable } from '../site/ask.ts'
import { eventReader, type StreamEvent } from './event-stream.ts'

interface Listening {
  token: string
  /** The newest message that is known: the stream begins after it. */
  since: number
  signal: AbortSignal
  onOpen(): void
  onEvent(event: StreamEvent): void
}

// The first line comes at once, unless something on the way holds it back; then a beat every 15 s.
const FIRST_MS = 10_000
const SILENCE_MS = 40_000

let heardAt = 0

/** How long ago the stream last showed that it lives. */
export function heardAgoMs(): number {
  return Date.now() - heardAt
}

/** The live stream, until the server ends it. Throws when it cannot be had, breaks off or falls silent. */
export async function listen({ token, since, signal, onOpen, onEvent }: Listening): Promise<void> {
  const dead = new AbortController()
  const fall = () => dead.abort(new Unreachable('the stream fell silent'))
  let watch = setTimeout(fall, FIRST_MS)
  const onPiece = () => {
    clearTimeout(watch)
    watch = setTimeout(fall, SILENCE_MS)
    heardAt = Date.now()
  }
  try {
    const { body } = await send('/api/events', {
      token,
      headers: { 'last-event-id': String(since) },
      signal: AbortSignal.any([signal, dead.signal]),
    })
    const take = eventReader()
    let open = false
    for await (const piece of pieces(body)) {
      if (signal.aborted) return
      onPiece()
      if (!open) onOpen()
      open = true
      for (const event of take(piece)) onEvent(event)
    }
  } finally {
    clearTimeout(watch)
    dead.abort()
  }
}

async function* pieces(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
): AsyncGenerator<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  while (reader) {
    const { done, value } = await read(reader)
    if (done) return
    yield value
  }
}

async function read(reader: ReadableStreamDefaultReader<string>) {
  try {
    return await reader.read()
  } catch (cause) {
    throw new Unreachable('the stream broke off', { cause })
  }
}
