import { signal as createSignal } from '@preact/signals'
import { t } from './i18n.ts'

/** An error response of the API. `message` is for people, in English. */
export class ApiError extends Error {
  readonly code: string
  readonly status: number
  /** From Retry-After. */
  readonly retrySeconds: number | undefined

  constructor(status: number, body: { code: string; message: string }, retrySeconds?: number) {
    super(body.message)
    this.status = status
    this.code = body.code
    this.retrySeconds = retrySeconds
  }
}

/** No response of the API: we are offline, or the server is. */
export class NetworkError extends Error {}

/** False after a request without a response, until another gets one. */
export const isReachable = createSignal(true)

export interface RequestOptions {
  method?: 'GET' | 'POST'
  /** Sent as a bearer token: in a URL it would end up in logs. */
  token?: string
  /** Query of a GET, form of a POST. */
  values?: Record<string, string | number | boolean | undefined>
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Completed even if the page is left. */
  keepalive?: boolean
  /** Sends the cookie of the admin page. */
  withCookie?: boolean
}

/** Throws ApiError or NetworkError. */
export async function requestJson<T>(path: string, options: RequestOptions = {}): Promise<T> {
  return readJson<T>(await request(path, options))
}

/** A successful response, or 304 to an If-None-Match. Throws ApiError or NetworkError. */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  const {
    method = 'GET',
    token,
    values = {},
    headers = {},
    signal,
    keepalive,
    withCookie,
  } = options
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) params.set(name, String(value))
  }
  const query = method === 'GET' && params.size > 0 ? `?${params}` : ''
  const allHeaders = { ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers }
  rejectInvalidSecrets(allHeaders)
  let response: Response
  try {
    response = await fetch(`${path}${query}`, {
      method,
      cache: 'no-store',
      credentials: withCookie ? 'same-origin' : 'omit',
      headers: allHeaders,
      ...(method === 'POST' ? { body: params } : {}),
      ...(signal ? { signal } : {}),
      ...(keepalive ? { keepalive } : {}),
    })
  } catch (cause) {
    if (signal?.aborted) throw cause
    isReachable.value = false
    throw new NetworkError('the server could not be reached', { cause })
  }
  if (!response.ok && response.status !== 304) throw await errorFrom(response)
  isReachable.value = true
  return response
}

/** Throws NetworkError if the body is incomplete. */
export async function readJson<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T
  } catch (cause) {
    throw new NetworkError('the response broke off', { cause })
  }
}

/** Safari cannot iterate over a stream. Throws NetworkError if it breaks off; what is not read is not downloaded. */
export async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = body?.getReader()
  try {
    for (;;) {
      const read = await reader?.read()
      if (!read || read.done) return
      yield read.value
    }
  } catch (cause) {
    throw new NetworkError('the response broke off', { cause })
  } finally {
    reader?.cancel().catch(() => undefined)
  }
}

/** The API's error for an invalid secret, by header. */
const INVALID_SECRETS: Record<string, ApiError> = {
  apikey: new ApiError(401, {
    code: 'invalid_key',
    message: 'The API key is invalid or missing.',
  }),
  authorization: new ApiError(401, {
    code: 'invalid_token',
    message: 'token: no session has this token.',
  }),
  'claim-secret': new ApiError(404, {
    code: 'not_found',
    message: 'Unknown order or wrong claim secret.',
  }),
}

/** Throws for a secret with characters not allowed in a header: fetch would fail, and no valid secret has any. */
export function rejectInvalidSecrets(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const error = INVALID_SECRETS[name.toLowerCase()]
    if (error && !/^[\x20-\x7e]*$/.test(value)) throw error
  }
}

async function errorFrom(response: Response): Promise<Error> {
  if (response.status >= 500) isReachable.value = false
  const seconds = Number(response.headers.get('retry-after'))
  try {
    return new ApiError(response.status, await response.json(), seconds > 0 ? seconds : undefined)
  } catch (cause) {
    // Not our JSON: a proxy responded.
    return new NetworkError(`status ${response.status}`, { cause })
  }
}

/** In the user's language for common errors, else the message of the API. Throws whatever is a bug. */
export function errorText(error: unknown): string {
  if (error instanceof NetworkError) return t('site_unreachable')
  if (!(error instanceof ApiError)) throw error
  if (error.status === 429) return t('site_rate_limited', { count: error.retrySeconds ?? 1 })
  if (error.status >= 500) return t('site_server_error')
  return error.message
}
