import { empty, type HttpResponse } from './response.ts'
import type { Route } from './route.ts'

/** The methods of each path, for requests that no route handles. */
export function methodsByPath(routes: readonly Route[]) {
  return [...Map.groupBy(routes, ({ path }) => path)].map(([path, alike]) => ({
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    methods: alike.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    api: alike.find(({ api }) => api)?.api,
  }))
}

const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'If-None-Match',
  'Last-Event-ID',
  'APIKey',
  'X-API-Key',
  'Claim-Secret',
  'Idempotency-Key',
].join(', ')

/** Response to a CORS preflight. */
export function preflight(allow: string): HttpResponse {
  return empty(204, {
    allow,
    'access-control-allow-methods': allow,
    'access-control-allow-headers': ALLOWED_HEADERS,
    'access-control-max-age': '86400',
  })
}
