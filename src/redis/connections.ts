import type { Client, ClientFactory, RedisServer } from './client.ts'
import { openConnection, type RedisConnection } from './connection.ts'
import type { Outages } from './outages.ts'

interface Wiring {
  makeClient: ClientFactory
  outages: Outages
  up(client: Client): void
  down(): void
}

/** A line to each server that was asked for. */
export function openConnections({ makeClient, outages, up, down }: Wiring) {
  const lines = new Map<string, RedisConnection>()
  let closed = false

  function lineTo(server: RedisServer): RedisConnection {
    const known = lines.get(server.name)
    if (known) return known
    const line = openConnection(server, makeClient, {
      up(client) {
        outages.end(server)
        up(client)
      },
      down(fault) {
        outages.begin(server, fault)
        down()
      },
    })
    lines.set(server.name, line)
    return line
  }

  function keep(servers: readonly RedisServer[]): void {
    const names = new Set(servers.map(({ name }) => name))
    for (const [name, line] of lines) {
      if (names.has(name)) continue
      line.close()
      lines.delete(name)
    }
  }

  return {
    /** Undefined while it is away. */
    to: (server: RedisServer): Client | undefined => (closed ? undefined : lineTo(server).client()),
    /** Resolves when the first attempt at each of them has ended, in whichever way. */
    async tried(servers: readonly RedisServer[]): Promise<void> {
      await Promise.all(servers.map((server) => lineTo(server).tried))
    },
    /** For a new connection, as when the name may mean another machine by now. */
    drop(server: RedisServer, fault: Error): void {
      lines.get(server.name)?.drop(fault)
    },
    /** Closes the lines to all others. */
    keep,
    close(): void {
      closed = true
      keep([])
    },
  }
}
