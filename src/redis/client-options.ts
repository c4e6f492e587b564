/** Where Redis is, and how to sign in; `name` is `host:port`. */
export interface RedisServer {
  name: string
  host: string
  port: number
  tls: boolean
  username: string | undefined
  password: string | undefined
  database: number
}

export type ClientFactory = Awaited<ReturnType<typeof loadClientFactory>>
export type Client = ReturnType<ClientFactory>

const TCP_MS = 1_500
const MAX_QUEUED_COMMANDS = 20_000

/** Loaded only if Redis is configured: it costs a third of a second and 24 MB per thread. */
export async function loadClientFactory(server: RedisServer) {
  const { createClient } = await import('redis')
  const { host, port, tls, username, password, database } = server
  const socket = { host, port, connectTimeout: TCP_MS, reconnectStrategy: false } as const

  return () =>
    createClient({
      socket: tls ? { ...socket, tls: true } : socket,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      database,
      commandsQueueMaxLength: MAX_QUEUED_COMMANDS,
      // Its timeout costs an AbortSignal per command and covers only writing: callers have timeouts of their own.
      commandOptions: { timeout: 0 },
      maintNotifications: 'disabled',
      disableClientInfo: true,
    })
}

export function readUrl(text: string): RedisServer {
  const { protocol, hostname, port: givenPort, username, password, pathname } = new URL(text)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const port = Number(givenPort) || 6379
  return {
    name: `${host}:${port}`,
    host,
    port,
    tls: protocol === 'rediss:',
    username: decodeURIComponent(username) || undefined,
    password: decodeURIComponent(password) || undefined,
    database: Number(pathname.slice(1)) || 0,
  }
}
