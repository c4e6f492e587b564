import { type Agent, type IncomingHttpHeaders, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { connectSmtp, type SmtpClient } from '../../test/kit/smtp/smtp-client.ts'

// Simulates clients with distinct IP addresses: the service trusts loopback as a proxy and rate-limits each client by the
// address in X-Forwarded-For or the PROXY header.

export const TRUST_LOOPBACK = {
  MAYFLY_TRUST_PROXY: '127.0.0.1',
  MAYFLY_SMTP_PROXY_FROM: '127.0.0.1',
}

export interface Ports {
  httpPort: number
  smtpPort: number
}

interface Response {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

interface RequestOptions {
  method?: string
  token?: string
  headers?: Record<string, string>
  agent?: Agent | false
  signal?: AbortSignal
}

export type ProxiedClient = ReturnType<typeof proxiedClient>

export function proxiedClient(ip: string, { httpPort, smtpPort }: Ports) {
  const headersOf = (token?: string): Record<string, string> => ({
    'x-forwarded-for': ip,
    ...(token && { authorization: `Bearer ${token}` }),
  })

  /** Opens a new connection unless an agent is given. */
  function open(
    path: string,
    { method = 'GET', token, headers: more, agent = false, signal }: RequestOptions,
  ) {
    const headers = { ...headersOf(token), ...more }
    const options = { port: httpPort, host: '127.0.0.1', path, method, headers, agent }
    return request({ ...options, ...(signal && { signal }) })
  }

  async function send(path: string, options: RequestOptions = {}): Promise<Response> {
    const outgoing = open(path, options).end()
    return await new Promise((resolve, reject) => {
      outgoing.on('error', reject)
      outgoing.on('response', (response) => {
        const { statusCode: status = 0, headers } = response
        buffer(response).then((body) => resolve({ status, headers, body }), reject)
      })
    })
  }

  return {
    ip,
    smtpPort,
    open,
    send,
    async session(): Promise<{ email: string; token: string }> {
      const { status, body } = await send('/api/create-session', { method: 'POST' })
      if (status !== 200) throw new Error(body.toString())
      return JSON.parse(body.toString()) as { email: string; token: string }
    },
    smtp: (): Promise<SmtpClient> => connectSmtp(smtpPort, '127.0.0.1', { proxyFor: ip }),
  }
}
