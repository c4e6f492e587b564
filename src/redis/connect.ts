import type { Log } from '../core/log.ts'
import { loadClientFactory, type RedisServer, readUrl } from './client-options.ts'
import { openConnections } from './connection.ts'
import { openOutages } from './outages.ts'
import { openSlotMap } from './slot-map.ts'
import { type ChannelListener, openSubscriber } from './subscriber.ts'

/**
 * One Redis, or the masters of a Redis Cluster. Commands for an unavailable server fail at once; its connection is reopened in
 * the background.
 */
export interface Redis {
  /** Runs the command on the server that owns the key. */
  send(key: string, command: readonly string[]): Promise<unknown>
  /** Subscribes to a sharded channel until the returned function is called. One listener per channel. */
  subscribe(channel: string, listener: ChannelListener): () => void
  close(): void
}

interface RedisOptions {
  /** redis:// or rediss://; a comma-separated list names servers of a Redis Cluster. */
  url: string
  log: Log
  /** Of a connection attempt or a ping. */
  timeoutMs?: number
}

const MAX_REDIRECTIONS = 3
// MOVED replies update the slot map, too; this is for subscriptions.
const REFRESH_MS = 5_000

/** Resolves after the first attempt, successful or not: the service also starts without Redis. */
export async function connectRedis({ url, log, timeoutMs = 2_000 }: RedisOptions): Promise<Redis> {
  const { roots, access } = readUrl(url)
  const slotMap = openSlotMap(roots)
  const outages = openOutages(log, access.password)
  const makeClient = await loadClientFactory(access)
  let refreshing: Promise<void> | undefined
  const connections = openConnections({
    makeClient,
    timeoutMs,
    outages,
    up: refreshSoon,
    down: refreshSoon,
  })
  const subscriber = openSubscriber({ makeClient, timeoutMs, slotMap, outages, refreshSoon })

  function refreshSoon(): void {
    if (!slotMap.clustered() || refreshing !== undefined) return
    refreshing = refreshSlots().finally(() => {
      refreshing = undefined
    })
  }

  async function refreshSlots(): Promise<void> {
    for (const server of slotMap.servers()) {
      const slots = connections.to(server)?.clusterSlots()
      const ranges = await slots?.catch((error: unknown) => outages.rejected(server, error))
      if (!ranges || ranges.length === 0) continue
      slotMap.learn(ranges, server)
      break
    }
    connections.keep(slotMap.servers())
    subscriber.keep(slotMap.servers())
    subscriber.reconcile()
  }

  async function send(key: string, command: readonly string[]): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      const server = slotMap.of(key)
      const client = connections.to(server)
      if (!client) throw new Error(`Redis is unavailable: ${server.name}`)
      try {
        return await client.sendCommand(command)
      } catch (error) {
        if (attempt < MAX_REDIRECTIONS && slotMap.follow(error, server)) continue
        handleError(server, error)
        throw error
      }
    }
  }

  function handleError(server: RedisServer, error: unknown): void {
    // It is no longer a master; its name may already point to the new one.
    if (error instanceof Error && error.message.startsWith('READONLY'))
      connections.drop(server, error)
    else outages.rejected(server, error)
  }

  const timer = setInterval(refreshSoon, REFRESH_MS)
  await connections.tried(roots)
  await refreshing
  await connections.tried(slotMap.servers())

  return {
    send,
    subscribe: subscriber.listen,
    close() {
      clearInterval(timer)
      subscriber.close()
      connections.close()
    },
  }
}
