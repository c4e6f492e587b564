import type { Socket } from 'node:net'
import { type Static, Type } from 'typebox'
import { Problem, type ProblemCode } from '../../base/problem.ts'
import { type HttpResponse, json } from './response.ts'
import { named } from './schemas.ts'

// See server.ts.
const { STATUS_CODES } = process.getBuiltinModule('node:http')

export const problemStatus = {
  missing_parameter: 400,
  invalid_parameter: 400,
  invalid_prefix: 400,
  reserved_prefix: 400,
  invalid_subdomain: 400,
  reserved_subdomain: 400,
  unknown_domain: 400,
  unknown_gmail_account: 400,
  invalid_url: 400,
  invalid_domain: 400,
  entry_wide: 400,
  entry_top_level: 400,
  entry_private: 400,
  entry_own: 400,
  invalid_token: 401,
  session_expired: 401,
  invalid_key: 401,
  quota_exhausted: 402,
  plan_expired: 402,
  not_allowed: 403,
  message_not_found: 404,
  session_not_found: 404,
  webhook_not_found: 404,
  domain_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  address_taken: 409,
  order_unpaid: 409,
  order_stopped: 409,
  already_claimed: 409,
  already_rolled: 409,
  already_running: 409,
  webhook_limit: 409,
  domain_limit: 409,
  domain_exists: 409,
  domain_reserved: 409,
  domain_held: 409,
  record_missing: 409,
  idempotency_conflict: 409,
  // 431 if it is the headers: see parserProblem.
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  daily_limit: 429,
  internal: 500,
  overloaded: 503,
  gmail_unavailable: 503,
  payment_unavailable: 503,
  dns_failed: 503,
  shutting_down: 503,
} as const satisfies Record<ProblemCode, number>

export const problemSchema = named('Problem', {
  status: Type.Literal('error'),
  message: Type.String(),
  code: Type.Enum(Object.keys(problemStatus) as ProblemCode[]),
  request_id: Type.String(),
})

export function problemResponse(
  { code, message, retryAfter }: Problem,
  requestId: string,
): HttpResponse<Static<typeof problemSchema>> {
  const body = { status: 'error' as const, message, code, request_id: requestId }
  const headers: Record<string, string> = { 'x-request-id': requestId }
  const wait = retryAfter ?? (problemStatus[code] === 503 ? 1 : undefined)
  if (wait !== undefined) headers['retry-after'] = String(wait)
  if (problemStatus[code] === 401) headers['www-authenticate'] = 'Bearer'
  return { ...json(body, headers), status: problemStatus[code] }
}

/** An unexpected error is reported without its cause. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  return new Problem('internal', 'Internal error. It has been logged.')
}

interface SocketWithResponse extends Socket {
  /** Internal to Node: the response in progress. */
  _httpMessage?: { headersSent: boolean; shouldKeepAlive: boolean; req: { complete: boolean } }
}

/** Responds to input that never became a request: too slow, too large, or not HTTP. */
export function handleClientError(
  fault: Error & { code?: string },
  socket: SocketWithResponse,
  requestId: string,
): void {
  // Another response cannot start in the middle of one.
  if (fault.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) {
    socket.destroy(fault)
    return
  }
  // A complete request before the error gets its response; then the connection closes.
  if (socket._httpMessage?.req.complete) {
    socket._httpMessage.shouldKeepAlive = false
    return
  }
  const { status, problem } = parserProblem(fault.code)
  socket.end(rawProblemResponse(problem, requestId, status), () => socket.destroy())
}

/** A problem as raw HTTP, for a connection without a request; the connection closes. */
export function rawProblemResponse(problem: Problem, requestId: string, status?: number): string {
  const { status: defaultStatus, headers, body } = problemResponse(problem, requestId)
  const code = status ?? defaultStatus
  const lines = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(String(body))}`,
    'connection: close',
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

function parserProblem(code: string | undefined): { status: number; problem: Problem } {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { status: 408, problem: new Problem('timeout', 'The request did not arrive in time.') }
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    const problem = new Problem('too_large', 'The request line and headers exceed 16 KB.')
    return { status: 431, problem }
  }
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return { status: 413, problem: new Problem('too_large', 'Chunk extensions are too long.') }
  }
  return {
    status: 400,
    problem: new Problem('invalid_parameter', 'Invalid HTTP request.'),
  }
}
