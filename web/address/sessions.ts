import { jsonOf, type Question, send } from '../site/ask.ts'
import { endHere, type Mailbox } from './mailbox.ts'

/** What a new address is to be like; nothing said: a random one for the usual time. */
export interface Wish {
  name?: string | undefined
  domainId?: number | undefined
  /** An alias of this Gmail account, or of any. */
  gmail?: number | 'any' | undefined
  seconds?: number | undefined
}

/** The API's deeds on a session. All of them throw Refusal or Unreachable. */
export const sessions = {
  create({ name, domainId, gmail, seconds }: Wish): Promise<Mailbox> {
    const values = {
      prefix: name || undefined,
      domain_id: domainId,
      ttl: seconds,
      gmail_auto: gmail === 'any' ? 1 : undefined,
      use_gmail: typeof gmail === 'number' ? 1 : undefined,
      gmail_id: typeof gmail === 'number' ? gmail : undefined,
    }
    return askMailbox('/api/create-session', { method: 'POST', values })
  },
  extend(token: string, seconds?: number): Promise<Mailbox> {
    return askMailbox('/api/extend-session', { method: 'POST', token, values: { ttl: seconds } })
  },
  async end(token: string): Promise<void> {
    await send('/api/delete-session', { method: 'POST', token })
  },
  /** Whose token this is, and how long it lasts. */
  look(token: string): Promise<Mailbox> {
    return askMailbox('/api/check-mail', { token, values: { limit: 1 } })
  },
}

async function askMailbox(path: string, question: Question): Promise<Mailbox> {
  const response = await send(path, question)
  const serverNow = new Date(response.headers.get('date') ?? Number.NaN)
  const { email, token, expires_at_iso } = await jsonOf<Named>(response)
  const expiresAt = endHere(new Date(expires_at_iso), serverNow, new Date())
  return { email, token: token ?? question.token ?? '', expiresAt }
}

/** Of what the calls answer, that which is about the session. */
interface Named {
  email: string
  token?: string
  expires_at_iso: string
}
