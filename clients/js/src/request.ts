import type { ApiResponses } from './api.ts'

/** The server refused a request, or could not be reached: then `status` is 0 and `cause` tells why. */
export class MayflyError extends Error {
  override name = 'MayflyError'
  /** HTTP status. */
  readonly status: number
  /** The stable code of the API, such as `session_expired`. */
  readonly code: string
  /** To find the request in the server's log. */
  readonly requestId: string | undefined

  constructor(message: string, { status = 0, code, requestId, cause }: ErrorDetails) {
    super(message, { cause })
    this.status = status
    this.code = code
    this.requestId = requestId
  }
}

interface ErrorDetails {
  status?: number
  code: string
  requestId?: string | undefined
  cause?: unknown
}

/** What was waited for did not happen in time. */
export class MayflyTimeoutError extends MayflyError {
  override name = 'MayflyTimeoutError'
  constructor(message: string, { cause }: { cause?: unknown } = {}) {
    super(message, { code: 'timeout', cause })
  }
}

/** Options of every call. */
export interface CallOptions {
  /** Milliseconds for the whole call, including retries; default 30,000. `Infinity`: no limit. */
  timeout?: number | undefined
  signal?: AbortSignal | undefined
}

export interface Connection {
  url: URL
  apiKey: string | undefined
  fetch: typeof fetch
}

/** The time that all requests of one call share. */
export interface Deadline {
  timeout: number
  signal: AbortSignal
  remainingMs(): number
  /** The error to throw in place of one that the end of the time, or the caller, has caused. */
  explain(error: unknown): unknown
}

const DEFAULT_TIMEOUT_MS = 30_000
// 24 days: timers with more end at once.
const MAX_TIMER_MS = 2 ** 31 - 1

export function startDeadline({ timeout = DEFAULT_TIMEOUT_MS, signal }: CallOptions): Deadline {
  const end = performance.now() + timeout
  const timer =
    timeout > MAX_TIMER_MS
      ? new AbortController().signal
      : AbortSignal.timeout(Math.ceil(Math.max(0, timeout)))
  return {
    timeout,
    signal: signal ? AbortSignal.any([signal, timer]) : timer,
    remainingMs: () => end - performance.now(),
    explain(error) {
      if (signal?.aborted) return signal.reason
      if (timer.aborted) return timeoutError(timeout, error)
      return error
    },
  }
}

function timeoutError(timeout: number, cause: unknown): MayflyTimeoutError {
  return new MayflyTimeoutError(`No response within ${timeout} ms`, { cause })
}

type Value = string | number | boolean | readonly string[] | undefined

export interface ApiRequest {
  method?: 'GET' | 'POST'
  /** Relative to the URL of the service. */
  path: string
  params?: Record<string, Value>
  token?: string
  headers?: Record<string, string>
}

/** For what needs a key. */
export function withKey({ apiKey }: Connection, wanted: ApiRequest): ApiRequest {
  if (!apiKey) throw new MayflyError('This needs an apiKey', { code: 'invalid_key' })
  return { ...wanted, headers: { ...wanted.headers, apikey: apiKey } }
}

/** An id as a part of a path, which it cannot leave. */
export function pathSegment(id: string | number): string {
  if (['', '.', '..'].includes(String(id))) {
    throw new MayflyError(`Invalid id: “${id}”`, { code: 'invalid_parameter' })
  }
  return encodeURIComponent(id)
}

const RETRIED = [429, 503]

/** Sends a request until it is answered: 429 and 503 are retried when the server says so, if there is time. */
export async function request(
  connection: Connection,
  wanted: ApiRequest,
  deadline: Deadline,
): Promise<Response> {
  for (;;) {
    const response = await send(connection, wanted, deadline)
    if (response.ok) return response
    const error = await toError(response)
    const delayMs = retryDelayMs(response)
    if (!RETRIED.includes(response.status) || delayMs >= deadline.remainingMs()) throw error
    await sleep(delayMs, deadline.signal).catch((reason) => {
      throw deadline.explain(reason)
    })
  }
}

export async function requestJson<T>(
  connection: Connection,
  wanted: ApiRequest,
  deadline: Deadline,
): Promise<T> {
  const response = await request(connection, wanted, deadline)
  return await readBody(connection, deadline, () => response.json() as Promise<T>)
}

export async function requestBytes(
  connection: Connection,
  wanted: ApiRequest,
  deadline: Deadline,
): Promise<Uint8Array> {
  const response = await request(connection, wanted, deadline)
  const bytes = await readBody(connection, deadline, () => response.arrayBuffer())
  return new Uint8Array(bytes)
}

export async function requestWithKey<Name extends keyof ApiResponses>(
  connection: Connection,
  wanted: ApiRequest,
  options: CallOptions = {},
): Promise<ApiResponses[Name]> {
  return await requestJson(connection, withKey(connection, wanted), startDeadline(options))
}

/** The time may end, or the connection, while the body is read. */
export async function readBody<T>(
  connection: Connection,
  deadline: Deadline,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw deadline.explain(toNetworkError(connection, error))
  }
}

async function send(
  connection: Connection,
  { method = 'GET', path, params = {}, token, headers = {} }: ApiRequest,
  deadline: Deadline,
): Promise<Response> {
  const target = new URL(path, connection.url)
  const encoded = encodeParams(params)
  if (method === 'GET') target.search = encoded.toString()
  try {
    return await connection.fetch(target, {
      method,
      headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers },
      // The service does not redirect, and another server must not see a token or key.
      redirect: 'error',
      signal: deadline.signal,
      ...(method === 'POST' ? { body: encoded } : {}),
    })
  } catch (error) {
    throw deadline.explain(toNetworkError(connection, error))
  }
}

function encodeParams(params: Record<string, Value>): URLSearchParams {
  const encoded = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (typeof value === 'boolean') encoded.set(name, value ? '1' : '0')
    else if (value !== undefined) encoded.set(name, String(value))
  }
  return encoded
}

export function toNetworkError({ url }: Connection, cause: unknown): MayflyError {
  return new MayflyError(`${url.origin} cannot be reached: ${reasonOf(cause)}`, {
    code: 'network',
    cause,
  })
}

/** Node's fetch has the reason in its cause. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as {
    cause?: { code?: string; message?: string }
    message: string
  }
  return cause?.message || cause?.code || message
}

/** A proxy in front of the server may answer with something that is not JSON. */
async function toError(response: Response): Promise<MayflyError> {
  const text = await response.text().catch(() => '')
  let body: { message?: string; code?: string; request_id?: string } = {}
  try {
    body = JSON.parse(text) ?? {}
  } catch {}
  const { status } = response
  return new MayflyError(body.message ?? `HTTP status ${status}`, {
    status,
    code: body.code ?? 'unknown',
    requestId: body.request_id,
  })
}

const MIN_DELAY_MS = 100

/** Retry-After is seconds or a date. */
function retryDelayMs({ headers }: Response): number {
  const given = headers.get('retry-after') ?? '1'
  const delayMs = /^\d+$/.test(given) ? Number(given) * 1_000 : Date.parse(given) - Date.now()
  return Math.max(MIN_DELAY_MS, Number.isNaN(delayMs) ? 1_000 : delayMs)
}

export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason)
      return
    }
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
