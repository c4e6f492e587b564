import type { MessagePort, Worker } from 'node:worker_threads'
import { Problem, type ProblemCode, toError } from '../base/problem.ts'

type Port = MessagePort | Worker

export interface PortRequest {
  seq: number
  /** ABORT cancels the call with this number. */
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

/** Rejects with the signal's reason when aborted, and cancels the call on the other end. */
export type Call = (name: string, value?: unknown, signal?: AbortSignal) => Promise<unknown>

/**
 * Calls the other end. Buffers in the value are transferred, not copied. Calls of one turn of the event loop are sent in one
 * message: under load, the other thread wakes less often and gets larger groups.
 */
export function openCaller(port: Port): Call {
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  let last = 0
  let requests: PortRequest[] = []

  function post(): void {
    const all = requests
    requests = []
    try {
      port.postMessage(
        all,
        all.flatMap(({ value }) => buffersIn(value)),
      )
    } catch {
      // One of them cannot be cloned. Nothing was transferred yet, so send them one by one.
      for (const request of all) postAlone(request)
    }
  }

  function postAlone(request: PortRequest): void {
    try {
      port.postMessage([request], buffersIn(request.value))
    } catch (error) {
      pending.get(request.seq)?.reject(error)
      pending.delete(request.seq)
    }
  }

  port.on('message', (responses: PortResponse[]) => {
    for (const response of responses) {
      const call = pending.get(response.seq)
      pending.delete(response.seq)
      if ('result' in response) call?.resolve(response.result)
      else call?.reject(errorOf(response))
    }
  })

  function send(request: PortRequest): void {
    if (requests.length === 0) setImmediate(post)
    requests.push(request)
  }

  function abortable(seq: number, call: PromiseWithResolvers<unknown>, signal: AbortSignal) {
    const abort = () => {
      if (!pending.delete(seq)) return
      call.reject(signal.reason)
      send({ seq, name: ABORT, value: undefined })
    }
    signal.addEventListener('abort', abort, { once: true })
    return call.promise.finally(() => signal.removeEventListener('abort', abort))
  }

  return async (name, value, signal) => {
    signal?.throwIfAborted()
    last += 1
    const call = Promise.withResolvers<unknown>()
    pending.set(last, call)
    send({ seq: last, name, value })
    return await (signal ? abortable(last, call, signal) : call.promise)
  }
}

/** A function that the other end may call; the signal is aborted when the result is no longer needed. */
type Command = (value: never, signal: AbortSignal) => unknown

export type Commands = Record<string, Command>

/** Serves calls concurrently and responds in any order. */
export function serve(port: Port, commands: Commands): void {
  const running = new Map<number, AbortController>()
  port.on('message', (requests: PortRequest[]) => {
    for (const request of requests) {
      if (request.name === ABORT) running.get(request.seq)?.abort()
      else void respond(request)
    }
  })

  async function respond({ seq, name, value }: PortRequest): Promise<void> {
    const ended = new AbortController()
    running.set(seq, ended)
    try {
      const command = commands[name]
      if (!command) throw new Error(`unknown command ${name}`)
      const result = await command(value as never, ended.signal)
      port.postMessage([{ seq, result } satisfies PortResponse], buffersIn(result))
    } catch (error) {
      // Nobody waits for the result of an aborted call.
      if (!ended.signal.aborted) port.postMessage([portResponse(seq, { error })], [])
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

function errorOf(response: { refused: PortProblem } | { failed: PortError }): Error {
  if ('refused' in response) {
    const { code, message, retryAfter } = response.refused
    return new Problem(code, message, retryAfter)
  }
  const error = new Error(response.failed.message)
  if (response.failed.stack) error.stack = response.failed.stack
  return error
}

/** Only buffers that contain nothing but the value's own bytes: a transfer detaches them from the sender. */
export function buffersIn(value: unknown): ArrayBuffer[] {
  if (Array.isArray(value)) return value.flatMap(buffersIn)
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
