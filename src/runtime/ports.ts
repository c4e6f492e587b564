import type { MessagePort, Worker } from 'node:worker_threads'
import { Problem, type ProblemCode, toError } from '../core/problem.ts'

/** What two threads talk over. */
type Port = MessagePort | Worker

export interface PortRequest {
  seq: number
  /** ABORT: the call with this number is no longer of use. */
  name: string
  value: unknown
}

const ABORT = 'abort'

export type PortResponse = { seq: number } & (
  | { result: unknown }
  | { refused: PortProblem }
  | { failed: PortError }
)
interface PortProblem {
  code: ProblemCode
  message: string
  retryAfter: number | undefined
}
interface PortError {
  message: string
  stack: string | undefined
}

/** Rejects with the signal's reason as soon as that is aborted; the other end hears of it. */
export type Call = (name: string, value?: unknown, signal?: AbortSignal) => Promise<unknown>

/**
 * Asks whoever serves the other end. Bytes in the value are handed over, not copied. What is asked in one turn of the
 * event loop travels in one message: under load that wakes the other thread less often, and it finds larger groups.
 */
export function openCaller(wire: Port): Call {
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  let last = 0
  let asks: PortRequest[] = []

  function post(): void {
    const all = asks
    asks = []
    try {
      wire.postMessage(
        all,
        all.flatMap(({ value }) => buffersIn(value)),
      )
    } catch {
      // One of them cannot be sent; nothing was handed over yet, and the others must not suffer for it.
      for (const ask of all) postAlone(ask)
    }
  }

  function postAlone(ask: PortRequest): void {
    try {
      wire.postMessage([ask], buffersIn(ask.value))
    } catch (error) {
      pending.get(ask.seq)?.reject(error)
      pending.delete(ask.seq)
    }
  }

  wire.on('message', (answers: PortResponse[]) => {
    for (const answer of answers) {
      const asked = pending.get(answer.seq)
      pending.delete(answer.seq)
      if ('result' in answer) asked?.resolve(answer.result)
      else asked?.reject(errorOf(answer))
    }
  })

  function send(ask: PortRequest): void {
    if (asks.length === 0) setImmediate(post)
    asks.push(ask)
  }

  function abortable(seq: number, asked: PromiseWithResolvers<unknown>, signal: AbortSignal) {
    const abort = () => {
      if (!pending.delete(seq)) return
      asked.reject(signal.reason)
      send({ seq, name: ABORT, value: undefined })
    }
    signal.addEventListener('abort', abort, { once: true })
    return asked.promise.finally(() => signal.removeEventListener('abort', abort))
  }

  return async (name, value, signal) => {
    signal?.throwIfAborted()
    last += 1
    const asked = Promise.withResolvers<unknown>()
    pending.set(last, asked)
    send({ seq: last, name, value })
    return await (signal ? abortable(last, asked, signal) : asked.promise)
  }
}

/** A function that the other end may call; the signal is aborted when the result is no longer of use. */
type Command = (value: never, signal: AbortSignal) => unknown

/** Answers each call by itself, in any order. */
export function serve(wire: Port, commands: Record<string, Command>): void {
  const running = new Map<number, AbortController>()
  wire.on('message', (asks: PortRequest[]) => {
    for (const ask of asks) {
      if (ask.name === ABORT) running.get(ask.seq)?.abort()
      else void answer(ask)
    }
  })

  async function answer({ seq, name, value }: PortRequest): Promise<void> {
    const ended = new AbortController()
    running.set(seq, ended)
    try {
      const command = commands[name]
      if (!command) throw new Error(`this thread has no command ${name}`)
      const result = await command(value as never, ended.signal)
      wire.postMessage([{ seq, result } satisfies PortResponse], buffersIn(result))
    } catch (error) {
      // Nobody waits for it.
      if (!ended.signal.aborted) wire.postMessage([portResponse(seq, { error })], [])
    } finally {
      running.delete(seq)
    }
  }
}

export function portResponse(
  seq: number,
  outcome: { result: unknown } | { error: unknown },
): PortResponse {
  if ('result' in outcome) return { seq, result: outcome.result }
  const { error } = outcome
  if (error instanceof Problem) {
    const { code, message, retryAfter } = error
    return { seq, refused: { code, message, retryAfter } }
  }
  const { message, stack } = toError(error)
  return { seq, failed: { message, stack } }
}

function errorOf(answer: { refused: PortProblem } | { failed: PortError }): Error {
  if ('refused' in answer) {
    const { code, message, retryAfter } = answer.refused
    return new Problem(code, message, retryAfter)
  }
  const error = new Error(answer.failed.message)
  if (answer.failed.stack) error.stack = answer.failed.stack
  return error
}

/** Only buffers that hold nothing else than the value's own bytes: handing over empties them for the sender. */
function buffersIn(value: unknown): ArrayBuffer[] {
  if (typeof value !== 'object' || value === null) return []
  const views = value instanceof Uint8Array ? [value] : Object.values(value)
  return views.flatMap((view) =>
    view instanceof Uint8Array &&
    view.buffer instanceof ArrayBuffer &&
    view.byteLength === view.buffer.byteLength
      ? [view.buffer]
      : [],
  )
}
