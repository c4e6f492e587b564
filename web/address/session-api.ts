import type { ApiResponses } from '../site/api.ts'
import { type RequestOptions, readJson, request, requestJson } from '../site/api-client.ts'
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
  /** Empty values remove what was set. */
  async update(token: string, values: SessionSettings): Promise<SessionSettingsResponse> {
    const names = Object.keys(values) as (keyof SessionSettings)[]
    const clear = names.filter((name) => values[name] === '').join()
    const set = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
    return await requestJson<SessionSettingsResponse>('/api/update-session', {
      method: 'POST',
      token,
      values: { ...set, ...(clear && { clear }) },
    })
  },
  find(token: string): Promise<Mailbox> {
    return requestMailbox('/api/check-mail', { token, values: { limit: 1 } })
  },
}

async function requestMailbox(path: string, options: RequestOptions): Promise<Mailbox> {
  const response = await request(path, options)
  measureClock(response.headers.get('date'))
  const { email, token, expires_at_iso, label } = await readJson<SessionResponse>(response)
  const expiresAt = new Date(expires_at_iso)
  return { email, token: token ?? options.token ?? '', expiresAt, ...(label && { label }) }
}

/** As they are typed; what is missing stays as it is. */
export type SessionSettings = Partial<Record<'label' | 'only_from' | 'max_messages', string>>
export type SessionSettingsResponse = ApiResponses['POST /api/update-session']

/** The part that all of these responses share. */
interface SessionResponse {
  email: string
  token?: string
  expires_at_iso: string
  label?: string
}
