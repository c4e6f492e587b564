import type { MessageSummary } from './api.ts'
import {
  type Connection,
  MayflyError,
  MayflyTimeoutError,
  request,
  sleep,
  startDeadline,
  toNetworkError,
} from './request.ts'

/** Which messages; several conditions must all hold. */
export interface Filter {
  /** An address, or a domain with its subdomains. */
  from?: string | undefined
  /** Part of the subject, without regard to case. */
  subject?: string | undefined
}

/** Conditions that a message meets once it is parsed. */
export interface ParsedFilter extends Filter {
  has_code?: boolean
  /** To verify an address, to sign in or to reset a password. */
  has_link?: boolean
}

/** `updated` follows once a message is parsed, with its code and preview. `end` is the last event. */
export type MailEvent =
  | { type: 'message' | 'updated'; message: MessageSummary }
  | { type: 'deleted'; id: number }
  | { type: 'end'; reason: 'expired' | 'deleted' }

export interface EventOptions extends ParsedFilter {
  since_id?: number
  signal?: AbortSignal
}

/** An event with the address of its mailbox. */
export type MailboxEvent = MailEvent & { email: string }

/** Events of several mailboxes say which one: by its address, or by its index if it has ended. */
type ReceivedEvent = MailEvent & { email?: string | null; index?: number }

/** What a stream is resumed with. */
interface Position {
  lastId: string | undefined
  retryMs: number
}

// The server sends a heartbeat every 15 s.
const SILENCE_MS = 45_000
const PASSING = [0, 429, 502, 503, 504]

/** Whether the same request may succeed later. */
function isPassing(error: unknown): boolean {
  // Invalid JSON has no status either.
  if (!(error instanceof MayflyError) || error.cause instanceof SyntaxError) return false
  return PASSING.includes(error.status)
}

/** The token of a mailbox, or those of several. */
export async function* mailEvents(
  connection: Connection,
  tokens: readonly string[],
  { signal, ...params }: EventOptions,
): AsyncGenerator<ReceivedEvent, void, void> {
  const position: Position = { lastId: undefined, retryMs: 1_000 }
  const token = tokens.join(',')
  const reported = new Set<string>()
  let open = tokens.length
  for (;;) {
    try {
      const stream = openStream(connection, { token, params, position, signal })
      for await (const event of unreported(stream, reported)) {
        yield event
        if (event.type === 'end') open -= 1
        if (open === 0) return
      }
    } catch (error) {
      if (signal?.aborted || !isPassing(error) || position.lastId === undefined) throw error
    }
    await sleep(position.retryMs, signal)
  }
}

/** After a reconnect the server may repeat messages, and the ends of some mailboxes. */
async function* unreported(
  events: AsyncIterable<ReceivedEvent>,
  reported: Set<string>,
): AsyncGenerator<ReceivedEvent, void, void> {
  for await (const event of events) {
    let key: string | undefined
    if (event.type === 'message') key = `${event.message.id} ${event.email}`
    if (event.type === 'end') key = `${event.index}`
    if (key !== undefined && reported.has(key)) continue
    if (key !== undefined) reported.add(key)
    yield event
  }
}

interface OpenOptions {
  token: string
  params: Omit<EventOptions, 'signal'>
  /** Updated by what is read. */
  position: Position
  signal: AbortSignal | undefined
}

/** One connection, until it ends or is silent for too long. */
async function* openStream(
  connection: Connection,
  { token, params, position, signal }: OpenOptions,
): AsyncGenerator<ReceivedEvent, void, void> {
  const silence = startSilenceTimer(signal)
  const headers: Record<string, string> =
    position.lastId === undefined ? {} : { 'last-event-id': position.lastId }
  const wanted = { path: 'api/events', params: { ...params }, token, headers }
  // The time is that of the request; the stream goes on.
  const deadline = { ...startDeadline({ signal: silence.signal }), signal: silence.signal }
  try {
    const parse = blockParser()
    for await (const chunk of chunksOf(await request(connection, wanted, deadline))) {
      silence.reset()
      for (const block of parse(chunk)) yield* readBlock(block, position)
    }
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    throw error instanceof MayflyError ? error : toNetworkError(connection, error)
  } finally {
    silence.end()
  }
}

function startSilenceTimer(signal: AbortSignal | undefined) {
  const closed = new AbortController()
  const fail = () => closed.abort(new MayflyTimeoutError('The event stream is silent'))
  let timer = setTimeout(fail, SILENCE_MS)
  return {
    signal: signal ? AbortSignal.any([signal, closed.signal]) : closed.signal,
    reset() {
      clearTimeout(timer)
      timer = setTimeout(fail, SILENCE_MS)
    },
    /** Closes the connection. */
    end() {
      clearTimeout(timer)
      closed.abort()
    },
  }
}

function* readBlock(
  { id, retry, event, data }: Block,
  position: Position,
): Generator<ReceivedEvent> {
  if (id) position.lastId = id
  if (retry) position.retryMs = Number(retry)
  if (data) yield eventOf(event ?? 'message', data)
}

/** Safari cannot iterate over a stream. */
async function* chunksOf({ body }: Response): AsyncGenerator<string, void, void> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    yield read.value
  }
}

/** The fields of a server-sent event that the server uses, each at most once. */
type Block = Partial<Record<'id' | 'retry' | 'event' | 'data', string>>

/** Fields of a server-sent event by name. A chunk may end anywhere. */
function blockParser(): (chunk: string) => Block[] {
  let rest = ''
  return (chunk) => {
    rest += chunk
    const blocks = rest.split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    return blocks.map((block) => {
      const lines = block.split(/\r?\n/).map((line) => /^([^:]*):? ?(.*)$/.exec(line) ?? [])
      return Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value]))
    })
  }
}

function eventOf(type: string, data: string): ReceivedEvent {
  const value = JSON.parse(data)
  if (type !== 'message' && type !== 'updated') return { type, ...value }
  const { email, ...message } = value
  return { type, message, ...(email === undefined ? {} : { email }) }
}
