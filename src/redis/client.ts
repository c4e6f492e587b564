/** One Redis server; `name` is host and port, for the log and to know it again by. */
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
// So many answers at most are waited for.
const MAX_QUEUED_COMMANDS = 20_000

/** Loaded by who has a Redis, and nobody else: a third of a second and 24 MB in each thread. */
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
      // Its time-out costs a signal for each command, and ends with the writing: whoever asks has his own.
      commandOptions: { timeout: 0 },
      maintNotifications: 'disabled',
      disableClientInfo: true,
    })
}
