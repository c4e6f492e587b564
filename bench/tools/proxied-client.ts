import { type Agent, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { connectSmtp, type SmtpClient } from '../../test/support/smtp-client.ts'

// Many clients on one machine. The service trusts this machine as a proxy, so each client is rate-limited by the address
// that it names, as it would be in production.

export const TRUST_THIS_MACHINE = {
  MAYFLY_TRUST_PROXY: '127.0.0.1',
  MAYFLY_SMTP_PROXY_FROM: '127.0.0.1',
}

export interface Ports {
  httpPort: number
  smtpPort: number
}

export interface Response {
  status: number
  body: Buffer
}

interface RequestOptions {
  method?: string
  token?: string
  agent?: Agent | false
  signal?: AbortSignal
}

export type ProxiedClient = ReturnType<typeof proxiedClient>

export function proxiedClient(ip: string, { httpPort, smtpPort }: Ports) {
  const headersOf = (token?: string): Record<string, string> => ({
    'x-forwarded-for': ip,
    ...(token && { authorization: `Bearer ${token}` }),
  })

  /** On a connection of its own unless there is an agent. */
  function open(path: string, { method = 'GET', token, agent = false, signal }: RequestOptions) {
    const headers = headersOf(token)
    const options = { port: httpPort, host: '127.0.0.1', path, method, headers, agent }
    return request({ ...options, ...(signal && { signal }) })
  }

  async function ask(path: string, asking: RequestOptions = {}): Promise<Response> {
    const asked = open(path, asking).end()
    return await new Promise((resolve, reject) => {
      asked.on('error', reject)
      asked.on('response', (response) => {
        const { statusCode: status = 0 } = response
        buffer(response).then((body) => resolve({ status, body }), reject)
      })
    })
  }

  return {
    ip,
    open,
    ask,
    async session(): Promise<{ email: string; token: string }> {
      const { status, body } = await ask('/api/create-session', { method: 'POST' })
      if (status !== 200) throw new Error(body.toString())
      return JSON.parse(body.toString()) as { email: string; token: string }
    },
    smtp: (): Promise<SmtpClient> => connectSmtp(smtpPort, '127.0.0.1', { proxyFor: ip }),
  }
}
