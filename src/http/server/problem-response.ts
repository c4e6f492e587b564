import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { hasErrorCode, Problem, type ProblemCode } from '../../core/problem.ts'
import { type HttpResponse, json } from './response.ts'

/** The status that each refusal has on this door. */
export const problemStatus = {
  missing_parameter: 400,
  invalid_parameter: 400,
  invalid_prefix: 400,
  reserved_prefix: 400,
  unknown_domain: 400,
  unknown_gmail_account: 400,
  invalid_token: 401,
  session_expired: 401,
  invalid_key: 401,
  quota_exhausted: 402,
  plan_expired: 402,
  message_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  address_taken: 409,
  order_unpaid: 409,
  order_stopped: 409,
  already_claimed: 409,
  already_rolled: 409,
  idempotency_conflict: 409,
  // A header block that is too large is 431: only the parser says so, see problem-response.ts.
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  daily_limit: 429,
  internal: 500,
  overloaded: 503,
  gmail_unavailable: 503,
  payment_unavailable: 503,
  shutting_down: 503,
} as const satisfies Record<ProblemCode, number>

interface ProblemBody {
  status: 'error'
  message: string
  code: ProblemCode
  request_id: string
}

/** The one shape of every refusal. */
export function problemResponse(
  { code, message, retryAfter }: Problem,
  requestId: string,
): HttpResponse<ProblemBody> {
  const body: ProblemBody = { status: 'error', message, code, request_id: requestId }
  const headers: Record<string, string> = { 'x-request-id': requestId }
  const wait = retryAfter ?? (problemStatus[code] === 503 ? 1 : undefined)
  if (wait !== undefined) headers['retry-after'] = String(wait)
  if (problemStatus[code] === 401) headers['www-authenticate'] = 'Bearer'
  return { ...json(body, headers), status: problemStatus[code] }
}

/** What the caller is told of an error. Of a fault of ours: nothing. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (hasErrorCode(error, 'FST_ERR_CTP_BODY_TOO_LARGE')) {
    return new Problem('too_large', 'The body is larger than 256 KB.')
  }
  if (hasErrorCode(error, 'FST_ERR_CTP_INVALID_CONTENT_LENGTH')) {
    return new Problem('invalid_parameter', 'body: it is not as long as Content-Length says.')
  }
  return new Problem('internal', 'Something went wrong on our side. The fault has been noted.')
}

interface SocketWithResponse extends Socket {
  /** Node's own name for the answer that is being written to this socket. */
  _httpMessage?: { headersSent: boolean; shouldKeepAlive: boolean; req: { complete: boolean } }
}

/** Answers what never became a request: too slow, too long, or no HTTP at all. */
export function handleClientError(
  fault: Error & { code?: string },
  socket: SocketWithResponse,
  requestId: string,
): void {
  // In the middle of an earlier answer there is no place for another one.
  if (fault.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) {
    socket.destroy(fault)
    return
  }
  // What came whole before the fault is answered for itself, and then we are done with this client.
  if (socket._httpMessage?.req.complete) {
    socket._httpMessage.shouldKeepAlive = false
    return
  }
  const { status, problem } = parserProblem(fault.code)
  socket.end(rawProblemResponse(problem, requestId, status), () => socket.destroy())
}

/** A refusal as it goes over the wire, for a connection that has no request to answer; it closes the connection. */
export function rawProblemResponse(problem: Problem, requestId: string, status?: number): string {
  const { status: usual, headers, body } = problemResponse(problem, requestId)
  const code = status ?? usual
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
    return { status: 408, problem: new Problem('timeout', 'The request took too long to arrive.') }
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    const problem = new Problem('too_large', 'The request line and headers exceed 16 KB.')
    return { status: 431, problem }
  }
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return { status: 413, problem: new Problem('too_large', 'The chunk extensions are too long.') }
  }
  return {
    status: 400,
    problem: new Problem('invalid_parameter', 'This is no valid HTTP request.'),
  }
}
