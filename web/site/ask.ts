/** The server understood and said no: `code` is one of the API's, `message` is for people, in English. */
export class Refusal extends Error {
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
export class Unreachable extends Error {}

export interface Question {
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
export async function ask<T>(path: string, question: Question = {}): Promise<T> {
  return jsonOf<T>(await send(path, question))
}

/** A success whose body is read by the caller, or 304 for who asked with If-None-Match. Throws Refusal, or Unreachable. */
export async function send(path: string, question: Question = {}): Promise<Response> {
  const { method = 'GET', token, values = {}, headers = {}, signal, keepalive } = question
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) given.set(name, String(value))
  }
  const query = method === 'GET' && given.size > 0 ? `?${given}` : ''
  const sent = { ...(token ? { authorization: `Bearer ${token}` } : {}), ...headers }
  refuseOdd(sent)
  let response: Response
  try {
    response = await fetch(`${path}${query}`, {
      method,
      cache: 'no-store',
      credentials: 'omit',
      headers: sent,
      ...(method === 'POST' ? { body: given } : {}),
      ...(signal ? { signal } : {}),
      ...(keepalive ? { keepalive } : {}),
    })
  } catch (cause) {
    if (signal?.aborted) throw cause
    throw new Unreachable('the site could not be reached', { cause })
  }
  if (!response.ok && response.status !== 304) throw await refusalOf(response)
  return response
}

/** What an answer says. Throws Unreachable when it is not there to its end. */
export async function jsonOf<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T
  } catch (cause) {
    throw new Unreachable('the answer broke off', { cause })
  }
}

/** What the API says of a wrong secret, by the header that it stands in. */
const WRONG: Record<string, Refusal> = {
  apikey: new Refusal(401, {
    code: 'invalid_key',
    message: 'The API key is invalid or missing.',
  }),
  authorization: new Refusal(401, {
    code: 'invalid_token',
    message: 'token: no session has this token.',
  }),
  'claim-secret': new Refusal(404, {
    code: 'not_found',
    message: 'There is no such order, or the claim secret is not its own.',
  }),
}

/** Throws for a secret that no header takes: the browser would not send it, and it cannot be the right one. */
export function refuseOdd(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const wrong = WRONG[name.toLowerCase()]
    if (wrong && !/^[\x20-\x7e]*$/.test(value)) throw wrong
  }
}

async function refusalOf(response: Response): Promise<Error> {
  const wait = Number(response.headers.get('retry-after'))
  const retry = wait > 0 ? wait : undefined
  try {
    return new Refusal(response.status, await response.json(), retry)
  } catch (cause) {
    // Not our JSON: something between us and the server answered.
    return new Unreachable(`status ${response.status}`, { cause })
  }
}
