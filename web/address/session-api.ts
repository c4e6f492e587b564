import { type RequestOptions, readJson, request } from '../site/api-client.ts'
import { localExpiry, type Mailbox } from './mailbox.ts'

/** By default a random address with the default lifetime. */
export interface NewMailboxOptions {
  name?: string | undefined
  domainId?: number | undefined
  /** An alias of this Gmail account, or of any. */
  gmail?: number | 'any' | undefined
  seconds?: number | undefined
  /** Addresses or domains, separated by commas. */
  onlyFrom?: string | undefined
  maxMessages?: number | undefined
}

/** All throw ApiError or NetworkError. */
export const sessionApi = {
  create(options: NewMailboxOptions): Promise<Mailbox> {
    const { name, domainId, gmail, seconds, onlyFrom, maxMessages } = options
    const values = {
      prefix: name || undefined,
      domain_id: domainId,
      ttl: seconds,
      gmail_auto: gmail === 'any' ? 1 : undefined,
      use_gmail: typeof gmail === 'number' ? 1 : undefined,
      gmail_id: typeof gmail === 'number' ? gmail : undefined,
      only_from: onlyFrom || undefined,
      max_messages: maxMessages,
    }
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
  const serverNow = new Date(response.headers.get('date') ?? Number.NaN)
  const { email, token, expires_at_iso } = await readJson<SessionResponse>(response)
  const expiresAt = localExpiry(new Date(expires_at_iso), serverNow, new Date())
  return { email, token: token ?? options.token ?? '', expiresAt }
}

/** The part that all of these responses share. */
interface SessionResponse {
  email: string
  token?: string
  expires_at_iso: string
}
