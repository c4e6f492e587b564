import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../core/problem.ts'
import { takeRate } from '../../service/rates.ts'
import { cors } from './cors.ts'
import { empty, type HttpResponse, writeResponse } from './response.ts'
import type { Route } from './route.ts'
import { requestPath, type ServerContext, sendProblem } from './serve.ts'

/** What no route answers: an unknown path, a method that a known path has not, and the browsers' preflight. */
export function fallbackHandler(serving: ServerContext) {
  const paths = methodsByPath(serving.routes)

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack()
    const { raw } = request
    const path = requestPath(raw)
    const known = paths.find(({ pattern }) => pattern.test(path))
    const share = cors(known?.reader ?? false, serving.deps.readerOrigins)
    const dress = (bare: HttpResponse) => share(bare, raw.headers.origin)
    try {
      const client = serving.clientOf(raw)
      if (client !== undefined) await takeRate(serving.deps, 'request', client)
      // A path whose parameter cannot be read has found no route either, also with the right method.
      if (!known || known.methods.includes(raw.method ?? '')) {
        throw new Problem('not_found', 'There is nothing at this path.')
      }
      const allow = [...known.methods, 'OPTIONS'].join(', ')
      if (raw.method !== 'OPTIONS') {
        reply.raw.setHeader('allow', allow)
        throw new Problem('method_not_allowed', `Use ${allow}.`)
      }
      if (serving.deps.draining()) reply.raw.shouldKeepAlive = false
      await writeResponse(reply.raw, dress(preflight(allow)))
    } catch (error) {
      await sendProblem(serving, request, { response: reply.raw, error, dress })
    }
  }
}

interface PathMethods {
  pattern: RegExp
  methods: string[]
  reader: boolean
}

function methodsByPath(routes: readonly Route[]): PathMethods[] {
  return [...Map.groupBy(routes, ({ path }) => path)].map(([path, alike]) => ({
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    methods: alike.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    reader: alike.some(({ reader }) => reader),
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

function preflight(allow: string): HttpResponse {
  return empty(204, {
    allow,
    'access-control-allow-methods': allow,
    'access-control-allow-headers': ALLOWED_HEADERS,
    'access-control-max-age': '86400',
  })
}
