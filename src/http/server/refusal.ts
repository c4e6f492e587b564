import { hasCode, Problem, type ProblemCode } from '../../core/problem.ts'
import { type HttpResponse, json } from './response.ts'
import { status } from './status.ts'

interface RefusalBody {
  status: 'error'
  message: string
  code: ProblemCode
  request_id: string
}

/** The one shape of every refusal. */
export function refusal(
  { code, message, retryAfter }: Problem,
  requestId: string,
): HttpResponse<RefusalBody> {
  const body: RefusalBody = { status: 'error', message, code, request_id: requestId }
  const headers: Record<string, string> = { 'x-request-id': requestId }
  const wait = retryAfter ?? (status[code] === 503 ? 1 : undefined)
  if (wait !== undefined) headers['retry-after'] = String(wait)
  if (status[code] === 401) headers['www-authenticate'] = 'Bearer'
  return { ...json(body, headers), status: status[code] }
}

/** What the caller is told of an error. Of a fault of ours: nothing. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (hasCode(error, 'FST_ERR_CTP_BODY_TOO_LARGE')) {
    return new Problem('too_large', 'The body is larger than 256 KB.')
  }
  if (hasCode(error, 'FST_ERR_CTP_INVALID_CONTENT_LENGTH')) {
    return new Problem('invalid_parameter', 'body: it is not as long as Content-Length says.')
  }
  return new Problem('internal', 'Something went wrong on our side. The fault has been noted.')
}
