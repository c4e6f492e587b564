import { inspect } from 'node:util'
import type { Command } from 'commander'
import { Problem, type ProblemCode } from '../base/problem.ts'
import { printable, printableLines } from '../base/text.ts'
import type { Endpoints as ServiceEndpoints } from '../cli/banner.ts'
import type { ApiCall, Endpoints } from './tools.ts'

export interface McpActions {
  endpoints(): ServiceEndpoints
}

export function addMcpCommand(mayfly: Command, actions: McpActions): void {
  mayfly
    .command('mcp')
    .description('Serve the Model Context Protocol on stdin and stdout, for agents')
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .addHelpText('after', '\nIf MAYFLY_API_KEY is set in the environment, it is sent as APIKey.')
    .action(async ({ url = actions.endpoints().url }: { url?: string }) => {
      const { serveMcpStdio } = await import('./server.ts')
      const { MAYFLY_API_KEY: key } = process.env
      await serveMcpStdio((signal) => apiCaller({ url, key, signal }), {
        // stdout is the protocol's.
        onError: (error) => console.error(printableLines(inspect(error))),
      })
    })
}

const METHODS: Record<keyof Endpoints, 'GET' | 'POST'> = {
  'create-session': 'POST',
  'check-mail': 'GET',
  'read-mail': 'GET',
  'delete-session': 'POST',
}

interface CallerOptions {
  url: string
  key: string | undefined
  signal: AbortSignal
}

export function apiCaller({ url, key, signal }: CallerOptions): ApiCall {
  const base = `${url.replace(/\/+$/, '')}/api/`
  return async (endpoint, { token, ...params }) => {
    const method = METHODS[endpoint]
    const query = encodeParams(params)
    const target = base + endpoint + (method === 'GET' ? `?${query}` : '')
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(key ? { apikey: key } : {}),
    }
    const body = method === 'POST' ? query : null
    // Another server must not see a token or key.
    const response = await fetch(target, {
      method,
      headers,
      body,
      signal,
      redirect: 'error',
    }).catch(() => {
      signal.throwIfAborted()
      // Without a user name or password.
      throw new Problem('overloaded', `No Mayfly service found at ${URL.parse(url)?.origin}.`)
    })
    const answer = (await response.json().catch(() => undefined)) as ResponseBody
    if (response.ok && answer !== undefined) return answer as Endpoints[typeof endpoint]
    throw refusal(answer, response)
  }
}

function encodeParams(params: Parameters<ApiCall>[1]): URLSearchParams {
  const given = Object.entries(params).filter(([, value]) => value !== undefined)
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
}

/** Undefined if it was not JSON. */
type ResponseBody = { code?: ProblemCode; message?: string } | undefined

function refusal(body: ResponseBody, response: Response): Problem {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const { code = 'internal', message = `HTTP status ${response.status}.` } = body ?? {}
  return new Problem(
    code,
    printable(String(message)),
    Number.isNaN(retryAfter) ? undefined : retryAfter,
  )
}
