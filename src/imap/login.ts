import { ImapFault } from './fault.ts'
import type { AccountOptions } from './options.ts'
import { type ImapSession, openSession, type SessionOptions } from './connection.ts'
import { tokenSource } from './oauth.ts'

/** Opens connections to one account, each with what the account's owner has given us. */
export function openLogin(
  account: AccountOptions,
  options: Omit<SessionOptions, 'account' | 'secret'>,
  now: () => Date,
): () => Promise<ImapSession> {
  const { login } = account
  const open = (secret: SessionOptions['secret']) => openSession({ ...options, account, secret })
  if ('password' in login) return () => open({ pass: login.password })
  const tokens = tokenSource(login.oauth, { now, ended: options.ended })

  return async function connect(): Promise<ImapSession> {
    const { token, fresh } = await tokens.token()
    try {
      return await open({ accessToken: token })
    } catch (error) {
      if (!(error instanceof ImapFault) || error.kind !== 'login') throw error
      tokens.forget()
      if (fresh) throw error
    }
    // It may have ended before its time. A new one tells whether the account is refused.
    return open({ accessToken: (await tokens.token()).token })
  }
}
