import type { Log } from '../base/log/log.ts'
import { type Client, loadClientFactory } from './client-options.ts'
import { openConnection } from './connection.ts'
import { openOutages } from './outages.ts'

/** One connection to Redis. While it is lost, commands fail at once, and it is reopened in the background. */
export interface Redis {
  send(command: readonly string[]): Promise<unknown>
  /** Subscribes to a channel until the connection is closed. */
  subscribe(channel: string, listener: ChannelListener): void
  close(): void
}

interface ChannelListener {
  message(message: string): void
  /** From now on no message is missed. */
  subscribed(): void
  /** From now on messages may be missed, until it is subscribed again. */
  unsubscribed(): void
}

interface RedisOptions {
  /** redis:// or rediss:// */
  url: string
  log: Log
  /** Limit for a connection attempt or a ping. */
  timeoutMs?: number
}

/** Resolves after the first attempt, successful or not: the service also starts without Redis. */
export async function connectRedis({ url, log, timeoutMs = 2_000 }: RedisOptions): Promise<Redis> {
  const server = new URL(url)
  // The client would refuse a path that is not the number of a database.
  if (!/^\/\d*$/.test(server.pathname)) server.pathname = ''
  const name = `${server.hostname.replace(/^\[(.*)\]$/, '$1')}:${server.port || 6379}`
  const outages = openOutages(log, { name, password: decodeURIComponent(server.password) })
  const makeClient = await loadClientFactory(server.href)
  const subscriptions: Subscription[] = []
  const connection = openConnection({
    makeClient,
    timeoutMs,
    up(client) {
      outages.end()
      for (const { begin } of subscriptions) begin(client)
    },
    down(error) {
      outages.begin(error)
      for (const { end } of subscriptions) end()
    },
  })

  async function send(command: readonly string[]): Promise<unknown> {
    const client = connection.client()
    if (!client) throw new Error(`Redis is unavailable: ${name}`)
    try {
      return await client.sendCommand(command)
    } catch (error) {
      // It is no longer a master; its name may already point to the new one.
      if (error instanceof Error && error.message.startsWith('READONLY')) connection.drop(error)
      else outages.rejected(error)
      throw error
    }
  }

  await connection.tried
  return {
    send,
    subscribe(channel, listener) {
      const subscription = openSubscription(channel, listener, outages.rejected)
      subscriptions.push(subscription)
      const client = connection.client()
      if (client) subscription.begin(client)
    },
    close() {
      connection.close()
      for (const { end } of subscriptions) end()
    },
  }
}

type Subscription = ReturnType<typeof openSubscription>

const RETRY_MS = 1_000

/** A channel that is subscribed anew on every connection. */
function openSubscription(
  channel: string,
  listener: ChannelListener,
  rejected: (error: unknown) => void,
) {
  let current: Client | undefined
  let retry: NodeJS.Timeout | undefined

  function begin(client: Client): void {
    current = client
    client.subscribe(channel, listener.message).then(
      () => {
        if (client === current) listener.subscribed()
      },
      (error: unknown) => {
        if (client !== current) return
        rejected(error)
        retry = setTimeout(begin, RETRY_MS, client)
      },
    )
  }

  return {
    begin,
    end(): void {
      current = undefined
      clearTimeout(retry)
      listener.unsubscribed()
    },
  }
}
