import { type RequestOptions, readJson, request } from '../site/api-client.ts'
import type { Mailbox } from './mailbox.ts'
import { measureClock } from './server-clock.ts'

/** All throw ApiError or NetworkError. */
export const sessionApi = {
  /** By default a random address with the default lifetime. Empty parameters are left out. */
  create(given: Record<string, string> = {}): Promise<Mailbox> {
    const values = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''))
    return requestMailbox('/api/create-session', { method: 'POST', values })
  },
  extend(token: string, seconds?: number): Promise<Mailbox> {
    return requestMailbox('/api/extend-session', {
      method: 'POST',
      token,
      values: { ttl: seconds },
    })
  },
  async delete(token: string): Promise<void> {
    await request('/api/delete-session', { method: 'POST', token })
  },
  find(token: string): Promise<Mailbox> {
    return requestMailbox('/api/check-mail', { token, values: { limit: 1 } })
  },
}

async function requestMailbox(path: string, options: RequestOptions): Promise<Mailbox> {
  const response = await request(path, options)
  measureClock(response.headers.get('date'))
  const { email, token, expires_at_iso } = await readJson<SessionResponse>(response)
  return { email, token: token ?? options.token ?? '', expiresAt: new Date(expires_at_iso) }
}

/** The part that all of these responses share. */
interface SessionResponse {
  email: string
  token?: string
  expires_at_iso: string
}
