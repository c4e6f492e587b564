import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../core/problem.ts'
import { takeRate } from '../../service/rates.ts'
import { cors, empty, type HttpResponse, writeResponse } from './response.ts'
import type { Route } from './route.ts'
import { type HttpServerContext, requestPath, sendProblem } from './route-handler.ts'

/** Handles unknown paths, unsupported methods and CORS preflights. */
export function fallbackHandler(context: HttpServerContext) {
  const paths = methodsByPath(context.routes)

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack()
    const { raw } = request
    const path = requestPath(raw)
    const known = paths.find(({ pattern }) => pattern.test(path))
    const withCors = cors(known?.api, context.deps.keyedOrigins)
    const withHeaders = (response: HttpResponse) => withCors(response, raw.headers.origin)
    try {
      const client = context.clientOf(raw)
      if (client !== undefined) await takeRate(context.deps, 'request', client)
      // A parameter that cannot be decoded ends here even if the method is right.
      if (!known || known.methods.includes(raw.method ?? '')) {
        throw new Problem('not_found', 'Not found.')
      }
      const allow = [...known.methods, 'OPTIONS'].join(', ')
      if (raw.method !== 'OPTIONS') {
        reply.raw.setHeader('allow', allow)
        throw new Problem('method_not_allowed', `Use ${allow}.`)
      }
      if (context.deps.draining()) reply.raw.shouldKeepAlive = false
      await writeResponse(reply.raw, withHeaders(preflight(allow)))
    } catch (error) {
      await sendProblem(context, request, { response: reply.raw, error, withHeaders })
    }
  }
}

function methodsByPath(routes: readonly Route[]) {
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

function preflight(allow: string): HttpResponse {
  return empty(204, {
    allow,
    'access-control-allow-methods': allow,
    'access-control-allow-headers': ALLOWED_HEADERS,
    'access-control-max-age': '86400',
  })
}
