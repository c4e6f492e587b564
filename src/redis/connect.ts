import type { Log } from '../core/log.ts'
import { loadClientFactory, type RedisServer } from './client.ts'
import { openConnections } from './connections.ts'
import { openOutages } from './outages.ts'
import { openSlotMap } from './slot-map.ts'
import { type ChannelListener, openSubscriber } from './subscriber.ts'
import { readUrl } from './url.ts'

/**
 * One Redis, or the masters of a Redis Cluster. What is asked of a server that is away fails at once, and the connection
 * to it heals by itself.
 */
export interface Redis {
  /** Runs the command where the key is. */
  send(key: string, command: readonly string[]): Promise<unknown>
  /** Hears a sharded channel until the returned function is called. One listener a channel. */
  subscribe(channel: string, listener: ChannelListener): () => void
  close(): void
}

interface RedisOptions {
  /** redis:// or rediss://; several, with commas between them, are servers of a Redis Cluster. */
  url: string
  log: Log
}

const HOPS = 3
// Who asks the wrong server is told the right one; this is for a move that nobody told of.
const LOOK_MS = 5_000

/** Comes back when it is there or has been tried in vain: what starts does not need Redis for it. */
export async function connectRedis({ url, log }: RedisOptions): Promise<Redis> {
  const { roots, access } = readUrl(url)
  const places = openSlotMap(roots)
  const outages = openOutages(log, access.password)
  const makeClient = await loadClientFactory(access)
  let looking: Promise<void> | undefined
  const lines = openConnections({ makeClient, outages, up: lookAround, down: lookAround })
  const subscriber = openSubscriber({ makeClient, places, outages, lookAround })

  function lookAround(): void {
    if (!places.clustered() || looking !== undefined) return
    looking = learnPlaces().finally(() => {
      looking = undefined
    })
  }

  async function learnPlaces(): Promise<void> {
    for (const server of places.servers()) {
      const slots = lines.to(server)?.clusterSlots()
      const ranges = await slots?.catch((fault: unknown) => outages.refuse(server, fault))
      if (!ranges || ranges.length === 0) continue
      places.learn(ranges, server)
      break
    }
    lines.keep(places.servers())
    subscriber.keep(places.servers())
    subscriber.settle()
  }

  async function send(key: string, command: readonly string[]): Promise<unknown> {
    for (let hop = 1; ; hop += 1) {
      const server = places.of(key)
      const client = lines.to(server)
      if (!client) throw new Error(`Redis is away: ${server.name}`)
      try {
        return await client.sendCommand(command)
      } catch (error) {
        if (hop < HOPS && places.follow(error, server)) continue
        judge(server, error)
        throw error
      }
    }
  }

  function judge(server: RedisServer, fault: unknown): void {
    // It was the master of others until now, and its name may be the new one's already.
    if (fault instanceof Error && fault.message.startsWith('READONLY')) lines.drop(server, fault)
    else outages.refuse(server, fault)
  }

  const timer = setInterval(lookAround, LOOK_MS)
  await lines.tried(roots)
  await looking
  await lines.tried(places.servers())

  return {
    send,
    subscribe: subscriber.listen,
    close() {
      clearInterval(timer)
      subscriber.close()
      lines.close()
    },
  }
}
