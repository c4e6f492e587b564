import type { Domains, Message, MessageList, Session } from '../../js/src/api.ts'
import type { Address, Server } from './store.ts'
import { type TextName, t } from './texts.ts'
import { LONG_POLL_SECONDS } from './watch.ts'

/** The server refused, or did not respond. Its message is the sentence to show. */
export class ApiError extends Error {
  readonly code: string
  readonly retryAfterMs: number | undefined
  constructor(sentence: string, code: string, retryAfterMs?: number) {
    super(sentence)
    this.code = code
    this.retryAfterMs = retryAfterMs
  }
}

const SENTENCES: Partial<Record<string, TextName>> = {
  invalid_key: 'error_key',
  quota_exhausted: 'error_plan',
  plan_expired: 'error_plan',
  daily_limit: 'error_plan',
  unknown_domain: 'error_domain',
  address_taken: 'error_taken',
  invalid_prefix: 'error_name',
  reserved_prefix: 'address_name_reserved',
  session_expired: 'error_expired',
  invalid_token: 'error_unknown',
  rate_limited: 'error_busy',
  overloaded: 'error_busy',
  shutting_down: 'error_busy',
  gmail_unavailable: 'error_busy',
}

interface Options {
  token?: string
  key?: string | undefined
  query?: Record<string, string>
  body?: object
}

async function request<Result>(
  server: string,
  path: string,
  options: Options,
  isResult: (body: Partial<Result>) => boolean,
): Promise<Result> {
  const { token, key, query, body } = options
  const away = () => new ApiError(t('error_away', new URL(server).host), 'unreachable')
  const response = await fetch(`${server}${path}?${new URLSearchParams(query)}`, {
    method: body ? 'POST' : 'GET',
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(key && { apikey: key }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
    signal: AbortSignal.timeout((LONG_POLL_SECONDS + 4) * 1000),
  }).catch(() => {
    throw away()
  })
  const result: unknown = await response.json().catch(() => undefined)
  if (!isObject(result)) throw away()
  if (response.ok) {
    const serverNow = Date.parse(response.headers.get('date') ?? '')
    const timed: object = { ...result, serverNow, expiresAt: expiryOf(result, serverNow) }
    if (isResult(timed)) return timed as Result
    throw new ApiError(t('error_no_server'), 'no_server')
  }
  const { code, message } = result as { code?: unknown; message?: unknown }
  const name = Object.hasOwn(SENTENCES, String(code)) ? SENTENCES[String(code)] : undefined
  if (!name && response.status >= 500) throw away()
  const sentence = name ? t(name) : t('error_other', String(message ?? '').slice(0, MAX_MESSAGE))
  throw new ApiError(sentence, String(code), retryAfterMs(response))
}

const MAX_MESSAGE = 200

/** What names the end of a session has it here by the clock of this device, which may be wrong. `serverNow` is NaN if the response does not tell. */
type Timed<Result> = Result & { expiresAt: number; serverNow: number }

function expiryOf({ expires_at_iso }: { expires_at_iso?: string }, serverNow: number): number {
  const msAhead = Date.now() - serverNow
  // To the minute: else each response would give another end.
  return Date.parse(expires_at_iso ?? '') + Math.round((msAhead || 0) / 60_000) * 60_000
}

/** 0 if there is none, or a date, as some proxies send it. */
function retryAfterMs({ headers }: Response): number {
  return (Number(headers.get('retry-after')) || 0) * 1000
}

/** The server no longer knows the address. */
export function isGone(code: string | undefined): boolean {
  return code === 'session_expired' || code === 'invalid_token'
}

/** Ours are sentences; others are bugs. */
export function sentenceOf(error: unknown): string {
  return error instanceof ApiError ? error.message : t('error_internal')
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

export interface Choice {
  prefix?: string
  domain?: string
}

/** Labelled with the site, so that the page and other clients show what the address is for. */
export function createSession(
  server: Server,
  site: string,
  choice: Choice,
): Promise<Timed<Session>> {
  const domain = choice.domain || server.domain
  const body = { prefix: choice.prefix, domain, label: site.slice(-MAX_LABEL) }
  const { url, key } = server
  return request<Timed<Session>>(url, '/api/create-session', { key, body }, isSession)
}

/** Its end: the start of a host name can be anything. */
const MAX_LABEL = 60

function isSession({ email, token, expiresAt }: Partial<Timed<Session>>): boolean {
  return typeof email === 'string' && typeof token === 'string' && Number.isFinite(expiresAt)
}

export function checkMail(address: Address, wait: number): Promise<Timed<MessageList>> {
  const query = { since_id: String(address.lastId), ...(wait > 0 && { wait: String(wait) }) }
  const { server, token } = address
  return request<Timed<MessageList>>(
    server,
    '/api/check-mail',
    { token, query },
    ({ messages, expiresAt }) =>
      Array.isArray(messages) && messages.every(hasId) && Number.isFinite(expiresAt),
  )
}

export async function readMail({ server, token }: Address, id: number): Promise<Message> {
  const query = { id: String(id) }
  const { message } = await request<{ message: Message }>(
    server,
    '/api/read-mail',
    { token, query },
    (result) => hasId(result.message) && result.message.id === id && isMessage(result.message),
  )
  return message
}

function hasId(value: unknown): value is { id: number } {
  return isObject(value) && 'id' in value && Number.isSafeInteger(value.id)
}

function isMessage({ code, links, sender_email }: Message): boolean {
  const isCode = code === null || typeof code === 'string'
  return isCode && Array.isArray(links) && typeof sender_email === 'string'
}

export function extendSession({ server, token }: Address): Promise<{ expiresAt: number }> {
  return request<{ expiresAt: number }>(
    server,
    '/api/extend-session',
    { token, body: {} },
    ({ expiresAt }) => Number.isFinite(expiresAt),
  )
}

export function deleteSession({ server, token }: Address): Promise<object> {
  return request(server, '/api/delete-session', { token, body: {} }, isObject)
}

export async function listDomains(server: string): Promise<string[]> {
  const { domains } = await request<Domains>(server, '/api/domains', {}, (result) =>
    Array.isArray(result.domains),
  )
  return domains.map(({ domain }) => domain)
}

/** Throws if the server is not there or does not accept the key. A server may have its keyed API elsewhere. */
export async function checkServer({ url, key }: Server): Promise<void> {
  // What a header cannot have.
  if (key && !/^[\x21-\x7e]+$/.test(key)) throw new ApiError(t('error_key'), 'invalid_key')
  await listDomains(url).catch((error: ApiError) => {
    throw error.code === 'unreachable' ? error : new ApiError(t('error_no_server'), 'no_server')
  })
  if (!key) return
  await request(url, '/usage', { key }, isObject).catch((error: ApiError) => {
    if (error.code === 'invalid_key') throw error
  })
}
