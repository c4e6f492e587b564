import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { rateLimitNetwork } from '../../core/ip.ts'
import { counter } from '../../core/metrics.ts'
import { Problem } from '../../core/problem.ts'
import { rawProblemResponse } from './problem-response.ts'

/** Counts the connections of this node over all threads. */
export interface ConnectionSlots {
  max: number
  /** False at the limit. */
  acquire(): boolean
  release(): void
  /** Counts one more under this name until the returned function is called; undefined at the limit. */
  acquireFor(name: string, max: number): (() => void) | undefined
}

interface ConnectionLimits {
  slots: ConnectionSlots
  /** Not limited per address: loopback and trusted proxies. */
  isExempt(ip: string): boolean
  requestId(): string
  perAddress?: number
}

const connectionsRefused = counter(
  'mayfly_http_connections_refused_total',
  'Connections refused, by the limit that they exceeded: of one address, or of all',
  'limit',
  ['address', 'all'],
)

const MAX_PER_ADDRESS = 1_000
// With few slots in all, one address gets at most a quarter.
const MAX_ADDRESS_SHARE = 1 / 4
const EVICTION_INTERVAL_MS = 250
const EVICTED_SHARE = 1 / 4

interface HttpSocket extends Socket {
  /** Internal to Node: the response in progress. */
  _httpMessage?: unknown
}

/**
 * Limits connections per address (IPv6: per /64) and in all. At the overall limit, idle keep-alive connections are closed
 * first. Above a limit a connection is refused before a byte is read.
 */
export function limitConnections(
  server: Server,
  { slots, isExempt, requestId, perAddress = MAX_PER_ADDRESS }: ConnectionLimits,
): void {
  const open = new Map<HttpSocket, () => void>()
  const served = new WeakSet<HttpSocket>()
  const maxPerAddress = Math.max(1, Math.min(perAddress, Math.floor(slots.max * MAX_ADDRESS_SHARE)))
  const refuse = connectionRejecter(requestId)
  let lastEvictionAt = Number.NEGATIVE_INFINITY

  /** Closes the oldest connections that have served a request and have none in progress. */
  function closeIdle(): void {
    // Scanning all connections is expensive: at most once per interval, even under a flood.
    if (performance.now() - lastEvictionAt < EVICTION_INTERVAL_MS) return
    lastEvictionAt = performance.now()
    let remaining = Math.ceil(open.size * EVICTED_SHARE)
    for (const [socket, release] of open) {
      if (remaining === 0) return
      if (!served.has(socket) || socket._httpMessage) continue
      socket.destroy()
      release()
      remaining -= 1
    }
  }

  function acquireSlot(): boolean {
    if (slots.acquire()) return true
    closeIdle()
    return slots.acquire()
  }

  function exceededLimit(socket: HttpSocket): 'address' | 'all' | undefined {
    const ip = socket.remoteAddress ?? ''
    const address = isExempt(ip) ? undefined : `http ${rateLimitNetwork(ip)}`
    const releaseAddress =
      address === undefined ? () => {} : slots.acquireFor(address, maxPerAddress)
    if (!releaseAddress) return 'address'
    if (!acquireSlot()) {
      releaseAddress()
      return 'all'
    }
    const release = () => {
      if (!open.delete(socket)) return
      releaseAddress()
      slots.release()
    }
    open.set(socket, release)
    socket.once('close', release)
    return undefined
  }

  server.on('request', ({ socket }) => served.add(socket))
  const accept = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const limit = exceededLimit(socket)
    if (limit === undefined) for (const listener of accept) listener.call(server, socket)
    else {
      connectionsRefused.add(limit)
      refuse(socket)
    }
  })
}

const MAX_LINGERING = 64
const LINGER_MS = 1_000

/**
 * Responds 503 and closes. Input is discarded for a moment, because closing with unread bytes resets the connection and
 * loses the response. Only a few may linger; the others are closed at once.
 */
function connectionRejecter(requestId: () => string): (socket: Socket) => void {
  let lingering = 0
  return (socket) => {
    if (lingering === MAX_LINGERING) {
      socket.destroy()
      return
    }
    lingering += 1
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => {
      lingering -= 1
      clearTimeout(timer)
    })
    socket.on('error', () => {})
    const problem = new Problem('overloaded', 'Too many connections.', 5)
    socket.end(rawProblemResponse(problem, requestId()))
    socket.resume()
  }
}
