import { backoffDelay, withJitter } from '../core/time.ts'
import type { Client, ClientFactory, RedisServer } from './client-options.ts'
import type { Outages } from './outages.ts'

interface ConnectionEvents {
  up(client: Client): void
  /** Also called after a failed attempt. */
  down(error: Error): void
}

const RETRY = { first: 50, max: 1_000 }

/** A connection that is always reopened. */
function openConnection(
  server: RedisServer,
  { makeClient, timeoutMs }: Pick<ConnectionsDeps, 'makeClient' | 'timeoutMs'>,
  events: ConnectionEvents,
) {
  const tried = Promise.withResolvers<void>()
  let current: Client | undefined
  let failures = 0
  let drop: ((error: Error) => void) | undefined
  let close = () => {}

  function open(): void {
    const client = makeClient(server)
    const running = runClient(client, timeoutMs, {
      up() {
        current = client
        events.up(client)
        tried.resolve()
      },
      healthy() {
        failures = 0
      },
      down(error) {
        current = undefined
        failures += 1
        const again = setTimeout(open, withJitter(backoffDelay(failures, RETRY), Math.random()))
        close = () => clearTimeout(again)
        events.down(error)
        tried.resolve()
      },
    })
    drop = running.fail
    close = running.end
  }

  open()
  return {
    /** Undefined while disconnected. */
    client: () => current,
    /** Resolves after the first attempt, successful or not. */
    tried: tried.promise,
    /** Replaces the current connection with a new one. */
    drop: (error: Error) => drop?.(error),
    close() {
      current = undefined
      close()
      tried.resolve()
    },
  }
}

interface ClientEvents {
  up(): void
  healthy(): void
  down(error: Error): void
}

/**
 * Runs one client until its first error; later replies are not trusted. In node-redis 6, a push message at the wrong moment can
 * shift replies by one, and an error always follows. `end` ends it without calling `down`.
 */
function runClient(client: Client, timeoutMs: number, { up, healthy, down }: ClientEvents) {
  let ended = false
  let isPinging = false
  let pinging: NodeJS.Timeout | undefined
  const deadline = setTimeout(() => fail(new Error('no response')), timeoutMs)

  function end(): void {
    ended = true
    clearTimeout(deadline)
    clearInterval(pinging)
    client.destroy()
  }
  function fail(error: Error): void {
    if (ended) return
    end()
    down(error)
  }
  function ping(): void {
    if (isPinging) {
      fail(new Error('no response to ping'))
      return
    }
    isPinging = true
    client.ping().then(() => {
      isPinging = false
      healthy()
    }, fail)
  }
  function connected(): void {
    // Ended while connecting: the client would otherwise stay connected.
    if (ended) {
      client.destroy()
      return
    }
    clearTimeout(deadline)
    pinging = setInterval(ping, timeoutMs)
    up()
  }

  client.on('error', fail)
  client.connect().then(connected, fail)
  return { end, fail }
}

interface ConnectionsDeps {
  makeClient: ClientFactory
  /**
   * To connect, and between two pings. A ping not answered by the time of the next one closes the connection: a server that
   * hangs keeps its connections open.
   */
  timeoutMs: number
  outages: Outages
  up(client: Client): void
  down(): void
}

/** A connection to each server that was used. */
export function openConnections(deps: ConnectionsDeps) {
  const { outages, up, down } = deps
  const connections = new Map<string, ReturnType<typeof openConnection>>()
  let closed = false

  function connectionTo(server: RedisServer) {
    const known = connections.get(server.name)
    if (known) return known
    const connection = openConnection(server, deps, {
      up(client) {
        outages.end(server)
        up(client)
      },
      down(error) {
        outages.begin(server, error)
        down()
      },
    })
    connections.set(server.name, connection)
    return connection
  }

  function keep(servers: readonly RedisServer[]): void {
    const names = new Set(servers.map(({ name }) => name))
    for (const [name, connection] of connections) {
      if (names.has(name)) continue
      connection.close()
      connections.delete(name)
    }
  }

  return {
    /** Undefined while it is unavailable. */
    to: (server: RedisServer): Client | undefined =>
      closed ? undefined : connectionTo(server).client(),
    /** Resolves after the first attempt to connect to each of them, successful or not. */
    async tried(servers: readonly RedisServer[]): Promise<void> {
      await Promise.all(servers.map((server) => connectionTo(server).tried))
    },
    /** Reconnects, as when the name may point to another machine by now. */
    drop(server: RedisServer, error: Error): void {
      connections.get(server.name)?.drop(error)
    },
    /** Closes the connections to all others. */
    keep,
    close(): void {
      closed = true
      keep([])
    },
  }
}
