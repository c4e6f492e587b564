import { EventEmitter } from 'node:events'
import { ImapFlow, type ImapFlowOptions, type SearchObject } from 'imapflow'
import { isProgrammingError } from '../../base/problem.ts'
import { ImapError, toImapError } from './errors.ts'
import { tokenSource } from './oauth.ts'
import type { AccountLimits, AccountOptions, AccountTiming } from './options.ts'

export type ImapConnection = Awaited<ReturnType<typeof openConnection>>

/** The library resolves some refused commands with false or undefined. */
type Command<T> = (client: ImapFlow) => Promise<T | false | undefined>

interface ConnectionOptions {
  account: Pick<AccountOptions, 'email' | 'host' | 'port' | 'tls'>
  secret: { pass: string } | { accessToken: string }
  limits: AccountLimits
  timing: Pick<AccountTiming, 'commandTimeoutMs' | 'idleMs'>
  /** The open folder has changed, or the connection has closed. */
  onChange(): void
  /** Aborts pending commands. */
  signal: AbortSignal
}

// Room for the response line, and for servers whose RFC822.SIZE is only approximate.
const SLACK_BYTES = 1024 * 1024
// The UIDs of a million messages.
const MAX_LINE_BYTES = 8 * 1024 * 1024
const LOGOUT_MS = 1_000

/** One connection to an account. Failures are thrown as ImapError, except programming errors. */
async function openConnection(options: ConnectionOptions) {
  const { timing, onChange, signal } = options
  let lastError: unknown
  let closedBy: ImapError | undefined
  const client = createClient(options, note)
  client.on('exists', onChange)
  client.on('close', () => {
    fail(lastError)
    fail(Object.assign(new Error('BYE'), { reason: client.byeReason }))
    onChange()
  })
  client.on('error', fail)

  function note(entry: { err?: unknown }): void {
    lastError = entry.err
  }

  /** The first error wins, unless it says only that the connection closed. */
  function fail(error: unknown): ImapError {
    const imapError = toImapError(error)
    if (!closedBy || (closedBy.kind === 'lost' && imapError.kind !== 'lost')) closedBy = imapError
    return closedBy
  }

  /** Runs one command; closes the connection on timeout. */
  async function run<T>(command: Command<T>, timeoutMs = timing.commandTimeoutMs): Promise<T> {
    lastError = undefined
    const abort = () => client.close()
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    const timer = setTimeout(() => {
      lastError = new ImapError('lost', 'the server does not respond')
      client.close()
    }, timeoutMs)
    try {
      const result = !signal.aborted && (await command(client))
      if (result !== false && result !== undefined && client.usable) return result
    } catch (error) {
      if (!(lastError instanceof ImapError)) lastError = errorOfServer(error)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
    throw client.usable ? toImapError(lastError) : fail(lastError)
  }

  await run(connect).catch((error: unknown) => {
    // The library keeps the connection open after a refused login.
    client.close()
    throw error
  })

  return {
    isGmail: client.capabilities.has('X-GM-EXT-1'),
    hasIdle: client.capabilities.has('IDLE'),
    hasUidPlus: client.capabilities.has('UIDPLUS'),
    /** Why the connection closed; undefined while it is usable. */
    error: () => closedBy,
    run,
    /** UIDs in ascending order. */
    search: (query: SearchObject) => run((one) => one.search(query, { uid: true })),
    /** IDLE on the open folder; the next command ends it. A failure also closes the connection, which has its own event. */
    startIdle: () => void client.idle().catch(() => {}),
    takeReceivedBytes: () => client.stats(true).received,
    async close(): Promise<void> {
      client.off('exists', onChange)
      await logOut(client)
    },
  }
}

function createClient(options: ConnectionOptions, note: (entry: { err?: unknown }) => void) {
  const client = new ImapFlow({
    ...clientOptions(options),
    // When a command is refused, the library may give the reason only to its log. Nothing of it is written.
    logger: { debug() {}, info() {}, warn: note, error: note, trace() {}, fatal: note },
  })
  // Closing removes the library's listener: what its parser reports in the same tick would end the process.
  const parser: unknown = Reflect.get(client, 'streamer')
  if (parser instanceof EventEmitter) parser.on('error', () => {})
  return client
}

/** Throws an error in our code: it says nothing about the server. */
function errorOfServer(error: unknown): unknown {
  if (isProgrammingError(error)) throw error
  return error
}

async function connect(client: ImapFlow): Promise<true> {
  await client.connect()
  return true
}

/** Also when in a hurry: without LOGOUT the server counts the connection for a while. */
async function logOut(client: ImapFlow): Promise<void> {
  const timer = setTimeout(() => client.close(), LOGOUT_MS)
  if (client.usable) await client.logout().catch(() => {})
  clearTimeout(timer)
  client.close()
}

function clientOptions({ account, secret, limits, timing }: ConnectionOptions): ImapFlowOptions {
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
    // Not needed, and not covered by any server of the tests.
    disableIMAP4rev2: true,
    maxIdleTime: timing.idleMs,
    connectionTimeout: timing.commandTimeoutMs,
    greetingTimeout: timing.commandTimeoutMs,
    maxLiteralSize: limits.maxBytes + SLACK_BYTES,
    maxResponseSize: Math.max(limits.maxBytes, MAX_LINE_BYTES) + 2 * SLACK_BYTES,
    maxLineLength: MAX_LINE_BYTES,
  }
}

/** Returns a function that opens connections to one account, with its password or an OAuth access token. */
export function openConnector(
  account: AccountOptions,
  options: Omit<ConnectionOptions, 'account' | 'secret'>,
  now: () => Date,
): () => Promise<ImapConnection> {
  const { login } = account
  const open = (secret: ConnectionOptions['secret']) =>
    openConnection({ ...options, account, secret })
  if ('password' in login) return () => open({ pass: login.password })
  const tokens = tokenSource(login.oauth, { now, signal: options.signal })

  return async function connectWithToken(): Promise<ImapConnection> {
    const { token, fresh } = await tokens.token()
    try {
      return await open({ accessToken: token })
    } catch (error) {
      if (!(error instanceof ImapError) || error.kind !== 'login') throw error
      tokens.invalidate()
      if (fresh) throw error
    }
    // A cached token may have been revoked early; a new one shows whether the account itself is refused.
    return open({ accessToken: (await tokens.token()).token })
  }
}
