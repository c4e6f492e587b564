import type { KeyObject } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { AcmeError, acmeProblem, parseRecord } from './error.ts'
import type { AcmeResponse, SendAcme } from './http.ts'
import { signedBody } from './jws.ts'

interface Options {
  send: SendAcme
  newNonce: string
  accountKey: KeyObject
  signal: AbortSignal
}

interface PostOptions {
  /** What it is about, for errors. */
  what: string
  /** URL of the account. */
  kid?: string
  /** Undefined: POST-as-GET. */
  payload?: object
  accept?: string
}

interface PollOptions {
  what: string
  kid: string
  /** The resource as it is now. */
  first?: Resource
  /** The statuses to wait for. */
  until: readonly string[]
}

/** A JSON object of the CA. */
export interface Resource {
  value: Record<string, unknown>
  retryAfterMs: number | undefined
}

export type AcmeRequests = ReturnType<typeof openAcmeRequests>

// A CA may refuse a nonce that has aged; Pebble refuses some at random, to test clients.
const MAX_NONCES = 10
// The CA has to look at the name from several places.
const POLL_MS = 300_000
const FIRST_WAIT_MS = 1_000
const LEAST_WAIT_MS = 100
const MAX_WAIT_MS = 15_000

/** Signed requests of RFC 8555 6, with the nonces that the CA requires. */
export function openAcmeRequests({ send, newNonce, accountKey, signal }: Options) {
  const nonces: string[] = []

  async function takeNonce(): Promise<string> {
    if (nonces.length === 0) keepNonce(await send(newNonce, { method: 'HEAD' }))
    const nonce = nonces.pop()
    if (nonce === undefined) throw new AcmeError('the CA sent no nonce')
    return nonce
  }

  function keepNonce({ headers }: AcmeResponse): void {
    const nonce = headers['replay-nonce']
    if (typeof nonce === 'string') nonces.push(nonce)
  }

  async function post(url: string, options: PostOptions): Promise<AcmeResponse> {
    const { what, kid, payload, accept } = options
    for (let attempt = 1; ; attempt += 1) {
      const nonce = await takeNonce()
      const body = signedBody(accountKey, { url, nonce, kid }, payload)
      const response = await send(url, { method: 'POST', body, ...(accept ? { accept } : {}) })
      keepNonce(response)
      if (isSuccess(response)) return response
      const problem = problemIn(response, what)
      if (problem.type !== 'badNonce' || attempt === MAX_NONCES) throw problem
    }
  }

  /** Reads a resource again and again until it has one of these statuses. */
  async function poll(url: string, { first, until, ...request }: PollOptions) {
    const deadline = performance.now() + POLL_MS
    const read = async () => readResource(await post(url, request), request.what)
    let { value, retryAfterMs } = first ?? (await read())
    for (let wait = FIRST_WAIT_MS; !until.includes(String(value['status'])); wait *= 2) {
      const ms = Math.min(Math.max(retryAfterMs ?? wait, LEAST_WAIT_MS), MAX_WAIT_MS)
      if (performance.now() + ms > deadline) {
        throw new AcmeError(`${request.what}: still ${value['status']} after ${POLL_MS / 1000} s`)
      }
      await pause(ms, undefined, { signal })
      ;({ value, retryAfterMs } = await read())
    }
    return value
  }

  return { post, poll }
}

const isSuccess = ({ status }: AcmeResponse) => status >= 200 && status < 300

/** A successful response with a JSON object. */
export function readResource(response: AcmeResponse, what: string): Resource {
  if (!isSuccess(response)) throw problemIn(response, what)
  const value = parseRecord(response.body)
  if (value === undefined) throw new AcmeError(`${what}: the response is not a JSON object`)
  return { value, retryAfterMs: retryAfter(response) }
}

function problemIn(response: AcmeResponse, what: string): AcmeError {
  const { status, body } = response
  const document = parseRecord(body)
  if (document?.['type'] !== undefined) return acmeProblem(what, document, retryAfter(response))
  const isRedirect = status >= 300 && status < 400
  const note = isRedirect ? ', and redirects are not followed' : ''
  return new AcmeError(`${what}: status ${status}${note}`, { retryAfterMs: retryAfter(response) })
}

const MAX_RETRY_AFTER_MS = 7 * 86_400_000

/** Seconds, or a date (RFC 9110 10.2.3), which is compared with the clock of the server. */
export function retryAfter({ headers }: Pick<AcmeResponse, 'headers'>): number | undefined {
  const given = headers['retry-after']
  if (given === undefined) return undefined
  const ms = /^\d{1,9}$/.test(given)
    ? Number(given) * 1000
    : Date.parse(given) - (Date.parse(headers.date ?? '') || Date.now())
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS)
}

export function urlIn(resource: Record<string, unknown>, field: string, what: string): string {
  return httpsUrl(resource[field], `${what}, ${field}`)
}

export function httpsUrl(value: unknown, what: string): string {
  if (typeof value === 'string' && URL.parse(value)?.protocol === 'https:') return value
  throw new AcmeError(`${what}: not an https URL`)
}

export function listIn(resource: Record<string, unknown>, field: string): unknown[] {
  const list = resource[field]
  return Array.isArray(list) ? list : []
}
