import type { HttpResponse } from './response.ts'

const EXPOSED_HEADERS = [
  'ETag',
  'Link',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
  'X-Timed-Out',
].join(', ')

type WithCors = (
  answer: HttpResponse,
  origin: string | undefined,
  /** Headers that it has besides. */
  told?: Record<string, string>,
) => HttpResponse

/**
 * What a page elsewhere may read of an answer. The open interface is for all, see response.ts. The paid one is for the
 * origins that the operator names, `*` for all of them: a key in a page is a key given away.
 */
export function cors(reader: boolean, origins: readonly string[]): WithCors {
  if (!reader) {
    return (answer, _origin, told) =>
      told ? { ...answer, headers: { ...answer.headers, ...told } } : answer
  }
  return (answer, origin, told) => {
    const {
      'access-control-allow-origin': _open,
      'access-control-expose-headers': _exposed,
      ...own
    } = answer.headers
    return { ...answer, headers: { ...own, ...told, ...corsHeaders(origins, origin) } }
  }
}

function corsHeaders(
  origins: readonly string[],
  origin: string | undefined,
): Record<string, string> | undefined {
  if (origins.length === 0) return undefined
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) {
    return { vary: 'Origin' }
  }
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': EXPOSED_HEADERS,
  }
}
