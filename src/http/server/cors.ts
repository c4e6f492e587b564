import type { HttpResponse } from './response.ts'
import type { Route } from './route.ts'

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
  response: HttpResponse,
  origin: string | undefined,
  extra?: Record<string, string>,
) => HttpResponse

/**
 * The public API is open to every origin (response.ts). The keyed API only to those the operator allows, `*` for all:
 * a key in a web page is a key given away.
 */
export function cors(api: Route['api'], origins: readonly string[]): WithCors {
  if (api !== 'keyed') {
    return (response, _origin, extra) =>
      extra ? { ...response, headers: { ...response.headers, ...extra } } : response
  }
  return (response, origin, extra) => {
    const {
      'access-control-allow-origin': _open,
      'access-control-expose-headers': _exposed,
      ...own
    } = response.headers
    return { ...response, headers: { ...own, ...extra, ...corsHeaders(origins, origin) } }
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
