import type { Answer } from './answer.ts'

const EXPOSED = [
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

/**
 * What a page elsewhere may read of an answer. The open interface is for all, see answer.ts. The paid one is for the
 * origins that the operator names, `*` for all of them: a key in a page is a key given away.
 */
export function sharing(
  reader: boolean,
  origins: readonly string[],
): (answer: Answer, origin: string | undefined) => Answer {
  if (!reader) return (answer) => answer
  return (answer, origin) => {
    const headers = { ...answer.headers }
    for (const name of Object.keys(headers)) {
      if (name.startsWith('access-control-allow-origin')) delete headers[name]
      if (name === 'access-control-expose-headers') delete headers[name]
    }
    if (origins.length === 0) return { ...answer, headers }
    headers['vary'] = 'Origin'
    if (origin !== undefined && (origins.includes('*') || origins.includes(origin))) {
      headers['access-control-allow-origin'] = origin
      headers['access-control-expose-headers'] = EXPOSED
    }
    return { ...answer, headers }
  }
}
