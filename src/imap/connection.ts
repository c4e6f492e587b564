import { ImapFlow, type ImapFlowOptions, type SearchObject } from 'imapflow'
import { faultOf, ImapFault } from './errors.ts'
import { tokenSource } from './oauth.ts'
import type { AccountLimits, AccountOptions, AccountTempo } from './options.ts'

/** One connection to an account. Whatever fails is told as an ImapFault. */
export interface ImapSession {
  /** Whether X-GM-MSGID is known there. */
  gmail: boolean
  idles: boolean
  /** Whether single mails can be expunged, and where a moved one went is told. */
  uidPlus: boolean
  /** Why it ended; undefined while it is usable. */
  fault(): ImapFault | undefined
  /** Runs one command. The connection ends when the answer is overdue. */
  ask<T>(command: Command<T>, withinMs?: number): Promise<T>
  /** UIDs in rising order. */
  search(query: SearchObject): Promise<number[]>
  /** Waits for the server to tell of mail in the open folder; the next command ends the wait. */
  idle(): void
  /** How many bytes came since this was last asked. */
  received(): number
  close(): Promise<void>
}

/** The library answers some refusals with false or undefined. */
type Command<T> = (client: ImapFlow) => Promise<T | false | undefined>

interface SessionOptions {
  account: Pick<AccountOptions, 'email' | 'host' | 'port' | 'tls'>
  secret: { pass: string } | { accessToken: string }
  limits: AccountLimits
  tempo: Pick<AccountTempo, 'answer' | 'idle'>
  /** The open folder has changed, or the connection has ended. */
  news(): void
  /** Nobody waits for an answer any more. */
  ended: AbortSignal
}

// A header line beside the mail itself, and servers whose RFC822.SIZE is only near the truth.
const SLACK = 1024 * 1024
// The UIDs of a million mails.
const MAX_LINE = 8 * 1024 * 1024
const LOGOUT_MS = 1_000

async function openSession(options: SessionOptions): Promise<ImapSession> {
  const { tempo, news, ended: abandoned } = options
  let said: unknown
  let ended: ImapFault | undefined
  const client = new ImapFlow({
    ...clientOptions(options),
    // Where a command is refused the library may answer false, and tell why only its log. Nothing of it is written.
    logger: { debug() {}, info() {}, warn: note, error: note, trace() {}, fatal: note },
  })
  client.on('exists', news)
  client.on('close', () => {
    end(said)
    // Servers say why they close on us.
    end(Object.assign(new Error('good-bye'), { reason: client.byeReason }))
    news()
  })
  client.on('error', end)

  function note(entry: { err?: unknown }): void {
    said = entry.err
  }

  /** The first reason stands, but for the mere fact that it ended. */
  function end(error: unknown): ImapFault {
    const fault = faultOf(error)
    if (!ended || (ended.kind === 'lost' && fault.kind !== 'lost')) ended = fault
    return ended
  }

  async function ask<T>(command: Command<T>, withinMs = tempo.answer): Promise<T> {
    said = undefined
    const abandon = () => client.close()
    if (abandoned.aborted) abandon()
    abandoned.addEventListener('abort', abandon)
    const timer = setTimeout(() => {
      said = new ImapFault('lost', 'the server does not answer')
      client.close()
    }, withinMs)
    try {
      const answer = !abandoned.aborted && (await command(client))
      if (answer !== false && answer !== undefined && client.usable) return answer
    } catch (error) {
      if (!(said instanceof ImapFault)) said = error
    } finally {
      clearTimeout(timer)
      abandoned.removeEventListener('abort', abandon)
    }
    throw client.usable ? faultOf(said) : end(said)
  }

  await ask(connected).catch((error: unknown) => {
    // The library leaves a connection open whose login was refused.
    client.close()
    throw error
  })

  return {
    gmail: client.capabilities.has('X-GM-EXT-1'),
    idles: client.capabilities.has('IDLE'),
    uidPlus: client.capabilities.has('UIDPLUS'),
    fault: () => ended,
    ask,
    search: (query) => ask((one) => one.search(query, { uid: true })),
    // Ends when the next command comes, or with the connection, which is told by its event.
    idle: () => void client.idle().catch(() => {}),
    received: () => client.stats(true).received,
    async close() {
      client.off('exists', news)
      if (client.usable) await logOut(client)
      client.close()
    },
  }
}

async function connected(client: ImapFlow): Promise<true> {
  await client.connect()
  return true
}

/** Also for who is in a hurry: a server that is left without a word counts the connection for a while. */
async function logOut(client: ImapFlow): Promise<void> {
  const timer = setTimeout(() => client.close(), LOGOUT_MS)
  await client.logout().catch(() => {})
  clearTimeout(timer)
}

function clientOptions({ account, secret, limits, tempo }: SessionOptions): ImapFlowOptions {
  const { email, host, port, tls } = account
  return {
    host,
    port,
    secure: tls,
    doSTARTTLS: false,
    auth: { user: email, ...secret },
    clientInfo: { name: 'mayfly', version: '', vendor: '', 'support-url': '' },
    tls: { minVersion: 'TLSv1.2' },
    disableAutoIdle: true,
    disableCompression: true,
    // Nothing of it is needed, and no server of the tests speaks it.
    disableIMAP4rev2: true,
    maxIdleTime: tempo.idle,
    connectionTimeout: tempo.answer,
    greetingTimeout: tempo.answer,
    maxLiteralSize: limits.maxBytes + SLACK,
    maxResponseSize: Math.max(limits.maxBytes, MAX_LINE) + 2 * SLACK,
    maxLineLength: MAX_LINE,
  }
}

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
