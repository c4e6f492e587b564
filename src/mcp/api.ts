import { isIP } from 'node:net'
import { Problem, toError } from '../base/problem.ts'
import { siteUrl } from '../http/server/client-address.ts'
import { isDisconnect } from '../http/server/disconnect.ts'
import { inputReader, NO_PARAMS } from '../http/server/parameters.ts'
import { checkJsonFields } from '../http/server/parse-request.ts'
import { takeRate } from '../http/server/rates.ts'
import type { HttpRequest } from '../http/server/request.ts'
import { contentResponse, type HttpResponse } from '../http/server/response.ts'
import { type Route, route } from '../http/server/route.ts'
import type { KeyRouteDeps } from '../keys/deps.ts'
import { checkMailRoute } from '../mail/api/check-mail.ts'
import { readTextRoute } from '../mail/api/read-mail.ts'
import { createSessionRoute, deleteSessionRoute } from '../mail/api/sessions.ts'
import type { mcpConfig } from './settings.ts'
import type { ApiCall, Endpoints } from './tools.ts'

interface McpDeps extends KeyRouteDeps {
  config: ReturnType<typeof mcpConfig>
}

/** Tools for agents: see docs/agents.md. */
export const mcpRoute = route({
  method: 'POST',
  path: '/mcp',
  // Closed to other origins.
  api: 'keyed',
  rawBody: true,
  async handle(_input, deps: McpDeps, request) {
    const { mcp } = deps.config
    if (mcp === 'off') throw new Problem('not_found', 'Not found.')
    checkOrigin(deps, request)
    checkBody(request)
    const { handleMcpRequest } = await import('./server.ts')
    const response = await handleMcpRequest(webRequest(request), endpointCaller(deps, request), {
      codesOnly: mcp === 'codes',
      onError(error) {
        if (!isDisconnect(error)) deps.log.error({ err: toError(error) }, 'MCP tool failed')
      },
    })
    return await httpResponse(response)
  },
})

/**
 * Against DNS rebinding: a page whose name resolves to this machine has an Origin of its own, and its name as Host. Without a
 * configured URL only names that cannot be rebound are accepted.
 */
function checkOrigin({ baseUrl }: McpDeps, request: HttpRequest): void {
  const { origin, host = '' } = request.headers
  const isOurHost = baseUrl === '' ? isLocalName(host) : isHostOf(new URL(baseUrl), host)
  if (!isOurHost) throw new Problem('not_allowed', 'Host: not allowed. Set MAYFLY_BASE_URL.')
  if (origin !== undefined && origin !== URL.parse(siteUrl(baseUrl, request))?.origin) {
    throw new Problem('not_allowed', 'Origin: not allowed.')
  }
}

/** Some clients name the default port. */
function isHostOf({ protocol, host: own }: URL, host: string): boolean {
  return host.toLowerCase().replace(protocol === 'https:' ? /:443$/ : /:80$/, '') === own
}

function isLocalName(host: string): boolean {
  const name = host.toLowerCase().replace(/:\d+$/, '')
  return name === 'localhost' || isIP(name.replace(/^\[(.*)\]$/, '$1')) > 0
}

/** A batch would be any number of requests, counted as one. The versions of the protocol since June 2025 have none. */
function checkBody({ body }: HttpRequest): void {
  checkJsonFields(body)
  if (/^\s*\[/.test(Buffer.from(body).toString())) {
    throw new Problem('invalid_parameter', 'Batches are not supported: send one message at a time.')
  }
}

/** The parts that the protocol defines. */
const PROTOCOL_HEADERS = /^(?:content-type|accept|mcp-.*)$/

function webRequest({ headers, body }: HttpRequest): Request {
  const passed = Object.entries(headers).filter(([name]) => PROTOCOL_HEADERS.test(name))
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: passed.map(([name, value]): [string, string] => [name, String(value)]),
    body: Buffer.from(body),
  })
}

async function httpResponse(response: Response): Promise<HttpResponse> {
  const type = response.headers.get('content-type') ?? 'application/json'
  // For a client of 2025 it is a stream, with one event at the end of a wait.
  const made = contentResponse(type, await response.text(), { 'cache-control': 'no-store' })
  return { ...made, status: response.status }
}

const ENDPOINTS = {
  'create-session': endpoint(createSessionRoute),
  'check-mail': endpoint(checkMailRoute),
  'read-mail': endpoint(readTextRoute),
  'delete-session': endpoint(deleteSessionRoute),
} satisfies Record<keyof Endpoints, unknown>

function endpoint(called: Route) {
  return { called, read: inputReader(called.input) }
}

/** Each call is validated, counted and delayed like a request to the endpoint. */
function endpointCaller(deps: McpDeps, request: HttpRequest): ApiCall {
  const { 'if-none-match': _, ...headers } = request.headers
  return async (name, params) => {
    const { called, read } = ENDPOINTS[name]
    if (request.client !== undefined) {
      await takeRate(deps, 'request', request.client)
      if (called.rate) await takeRate(deps, called.rate, request.client)
    }
    const own: HttpRequest = { ...request, headers, method: called.method }
    if (called.authenticate) own.key = await called.authenticate(deps, own)
    const body = new Map(Object.entries(params))
    const input = read({ path: NO_PARAMS, query: NO_PARAMS, body, bearer: undefined })
    const response = await called.handle(input, deps, own)
    const bytes = Buffer.from(String(response.body), response.latin1 ? 'latin1' : 'utf8')
    return JSON.parse(bytes.toString('utf8'))
  }
}
