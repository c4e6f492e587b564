import { inspect } from 'node:util'
import type { Command } from 'commander'
import { Problem, type ProblemCode } from '../base/problem.ts'
import { printable, printableLines } from '../base/text.ts'
import type { CommandContext } from '../cli/context.ts'
import { type ApiCall, type Endpoints, ServiceUnreachable } from './tools.ts'

export function addMcpCommand(mayfly: Command, context: Pick<CommandContext, 'endpoints'>): void {
  mayfly
    .command('mcp')
    .description('Serve the Model Context Protocol on stdin and stdout, for agents')
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .option('--codes-only', 'no tools that return the text of a mail')
    .addHelpText('after', '\nIf MAYFLY_API_KEY is set in the environment, it is sent as APIKey.')
    .action(async ({ url = context.endpoints().url, codesOnly = false }: McpCommandOptions) => {
      const { serveMcpStdio } = await import('./server.ts')
      const { MAYFLY_API_KEY: key } = process.env
      await serveMcpStdio((signal) => apiCaller({ url, key, signal }), {
        codesOnly,
        // stdout is the protocol's.
        onError: (error) => console.error(printableLines(inspect(error))),
      })
    })
}

interface McpCommandOptions {
  url?: string
  codesOnly?: boolean
}

interface CallerOptions {
  url: string
  key: string | undefined
  signal: AbortSignal
}

const READING: readonly (keyof Endpoints)[] = ['check-mail', 'read-mail']

export function apiCaller({ url, key, signal }: CallerOptions): ApiCall {
  const base = `${url.replace(/\/+$/, '')}/api/`
  return async (endpoint, { token, ...params }) => {
    const given = Object.entries(params).filter(([, value]) => value !== undefined)
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
    const isGet = READING.includes(endpoint)
    const response = await fetch(base + endpoint + (isGet ? `?${query}` : ''), {
      method: isGet ? 'GET' : 'POST',
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(key ? { apikey: key } : {}),
      },
      body: isGet ? null : query,
      signal,
      // Another server must not see a token or key.
      redirect: 'error',
    }).catch(() => {
      signal.throwIfAborted()
      // Without a user name or password.
      throw new ServiceUnreachable(`No Mayfly service found at ${URL.parse(url)?.origin}.`)
    })
    const body: unknown = await response.json().catch(() => undefined)
    if (response.ok && body !== undefined) return body as Endpoints[typeof endpoint]
    throw refusal(body as Refusal | undefined, response)
  }
}

interface Refusal {
  code?: ProblemCode
  message?: string
}

/** `body` is undefined if it was not JSON. */
function refusal(body: Refusal | undefined, { status, headers }: Response): Problem {
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN)
  const { code = 'internal', message = `HTTP status ${status}.` } = body ?? {}
  const wait = Number.isNaN(retryAfter) ? undefined : retryAfter
  return new Problem(code, printable(String(message)), wait)
}
