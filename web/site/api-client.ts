import type { Answers } from './api.ts'
import { t } from './i18n.ts'

/** The server understood and said no: `code` is one of the API's, `message` is for people, in English. */
export class ApiError extends Error {
  readonly code: string
  readonly status: number
  /** When it may be worth asking again. */
  readonly retrySeconds: number | undefined

  constructor(status: number, answer: { code: string; message: string }, retrySeconds?: number) {
    super(answer.message)
    this.status = status
    this.code = answer.code
    this.retrySeconds = retrySeconds
  }
}

/** No answer at all: we are offline, or the server is. */
export class NetworkError extends Error {}

export interface RequestOptions {
  method?: 'GET' | 'POST'
  /** Goes as Bearer: a token in an address would be in logs. */
  token?: string
  values?: Record<string, string | number | boolean | undefined>
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Sent to its end also when the page is left. */
  keepalive?: boolean
}

/** The JSON of a success. Throws Refusal, or Unreachable. */
export async function requestJson<T>(path: string, question: RequestOptions = {}): Promise<T> {
  return readJson<T>(await request(path, question))
}

/** A success whose body is read by the caller, or 304 for who asked with If-None-Match. Throws Refusal, or Unreachable. */
export async function request(path: string, question: RequestOptions = {}): Promise<Response> {
  const { method = 'GET', token, values = {}, headers = {}, signal, keepalive } = question
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
      credentials: 'omit',
      headers: allHeaders,
      ...(method === 'POST' ? { body: params } : {}),
      ...(signal ? { signal } : {}),
      ...(keepalive ? { keepalive } : {}),
    })
  } catch (cause) {
    if (signal?.aborted) throw cause
    throw new NetworkError('the site could not be reached', { cause })
  }
  if (!response.ok && response.status !== 304) throw await errorFrom(response)
  return response
}

/** What an answer says. Throws Unreachable when it is not there to its end. */
export async function readJson<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T
  } catch (cause) {
    throw new NetworkError('the answer broke off', { cause })
  }
}

/** What the API says of a wrong secret, by the header that it stands in. */
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
    message: 'There is no such order, or the claim secret is not its own.',
  }),
}

/** Throws for a secret that no header takes: the browser would not send it, and it cannot be the right one. */
export function rejectInvalidSecrets(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const wrong = INVALID_SECRETS[name.toLowerCase()]
    if (wrong && !/^[\x20-\x7e]*$/.test(value)) throw wrong
  }
}

async function errorFrom(response: Response): Promise<Error> {
  const wait = Number(response.headers.get('retry-after'))
  const retry = wait > 0 ? wait : undefined
  try {
    return new ApiError(response.status, await response.json(), retry)
  } catch (cause) {
    // Not our JSON: something between us and the server answered.
    return new NetworkError(`status ${response.status}`, { cause })
  }
}

// The parts of the API's answers that the page has names for.
export type MessageSummary = Answers['GET /api/check-mail']['messages'][number]
export type Message = Answers['GET /api/read-mail']['message']
export type Attachment = Message['attachments'][number]
export type Domains = Answers['GET /api/domains']
export type Plan = Answers['GET /api/plans']['plans'][number]
export type Order = Answers['GET /api/orders/{id}']
export type Usage = Answers['GET /usage']

/** What went wrong, for the reader: in his language where it is one of everybody's, else as the API says it. */
export function errorText(fault: unknown): string {
  if (fault instanceof NetworkError) return t('site_unreachable')
  if (!(fault instanceof ApiError)) throw fault
  if (fault.status === 429) return t('site_too_often', { count: fault.retrySeconds ?? 1 })
  if (fault.status >= 500) return t('site_trouble')
  return fault.message
}
