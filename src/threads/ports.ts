import type { MessagePort, Worker } from 'node:worker_threads'
import { asError } from '../core/fault.ts'
import { Problem, type ProblemCode } from '../core/problem.ts'

/** What two threads talk over. */
export type Wire = MessagePort | Worker

export interface Ask {
  seq: number
  name: string
  value: unknown
}

export type Answer = { seq: number } & (
  | { result: unknown }
  | { refused: Refused }
  | { failed: Failed }
)
interface Refused {
  code: ProblemCode
  message: string
  retryAfter: number | undefined
}
interface Failed {
  message: string
  stack: string | undefined
}

export type Call = (name: string, value?: unknown) => Promise<unknown>

/**
 * Asks whoever serves the other end. Bytes in the value are handed over, not copied. What is asked in one turn of the
 * event loop travels in one message: under load that wakes the other thread less often, and it finds larger groups.
 */
export function caller(wire: Wire): Call {
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  let last = 0
  let asks: Ask[] = []

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

  function postAlone(ask: Ask): void {
    try {
      wire.postMessage([ask], buffersIn(ask.value))
    } catch (error) {
      pending.get(ask.seq)?.reject(error)
      pending.delete(ask.seq)
    }
  }

  wire.on('message', (answers: Answer[]) => {
    for (const answer of answers) {
      const asked = pending.get(answer.seq)
      pending.delete(answer.seq)
      if ('result' in answer) asked?.resolve(answer.result)
      else asked?.reject(errorOf(answer))
    }
  })

  return (name, value) => {
    last += 1
    const asked = Promise.withResolvers<unknown>()
    pending.set(last, asked)
    if (asks.length === 0) setImmediate(post)
    asks.push({ seq: last, name, value })
    return asked.promise
  }
}

/** Answers each call by itself, in any order. */
export function serve(wire: Wire, commands: Record<string, (value: never) => unknown>): void {
  wire.on('message', (asks: Ask[]) => {
    for (const ask of asks) void answer(ask)
  })

  async function answer({ seq, name, value }: Ask): Promise<void> {
    try {
      const command = commands[name]
      if (!command) throw new Error(`this thread has no command ${name}`)
      const result = await command(value as never)
      wire.postMessage([{ seq, result } satisfies Answer], buffersIn(result))
    } catch (error) {
      wire.postMessage([answerOf(seq, { error })], [])
    }
  }
}

export function answerOf(seq: number, outcome: { result: unknown } | { error: unknown }): Answer {
  if ('result' in outcome) return { seq, result: outcome.result }
  const { error } = outcome
  if (error instanceof Problem) {
    const { code, message, retryAfter } = error
    return { seq, refused: { code, message, retryAfter } }
  }
  const { message, stack } = asError(error)
  return { seq, failed: { message, stack } }
}

function errorOf(answer: { refused: Refused } | { failed: Failed }): Error {
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
