/** One Redis server; `name` is `host:port`. */
export interface RedisServer {
  name: string
  host: string
  port: number
}

/** What every server of an installation is reached with. */
export interface RedisAccess {
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
export async function loadClientFactory({ tls, username, password, database }: RedisAccess) {
  const { createClient } = await import('redis')
  const wait = { connectTimeout: TCP_MS, reconnectStrategy: false } as const

  return ({ host, port }: RedisServer) =>
    createClient({
      socket: tls ? { tls: true, host, port, ...wait } : { host, port, ...wait },
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

export function serverAt(host: string, port: number): RedisServer {
  return { name: `${host}:${port}`, host, port }
}

/** The servers to start with, and the credentials of the first URL, which apply to all servers. */
export function readUrl(text: string): {
  roots: [RedisServer, ...RedisServer[]]
  access: RedisAccess
} {
  const [first, ...rest] = text.split(',').map(parse)
  if (!first) throw new Error('no Redis URL')
  const { protocol, username, password, pathname } = first
  return {
    roots: [serverOf(first), ...rest.map(serverOf)],
    access: {
      tls: protocol === 'rediss:',
      username: decodeURIComponent(username) || undefined,
      password: decodeURIComponent(password) || undefined,
      database: Number(pathname.slice(1)) || 0,
    },
  }
}

function parse(url: string): URL {
  const parsed = URL.parse(url)
  // Without the URL: it may contain a password.
  if (!parsed || !/^rediss?:$/.test(parsed.protocol)) throw new Error('not a redis:// URL')
  return parsed
}

function serverOf({ hostname, port }: URL): RedisServer {
  return serverAt(hostname.replace(/^\[(.*)\]$/, '$1'), Number(port) || 6379)
}
