import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { rateLimitNetwork } from '../../base/ip.ts'
import { counter } from '../../base/metrics.ts'
import { Problem } from '../../base/problem.ts'
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
  /** A refused connection is closed without a response, which could not be read before the handshake. */
  isTls?: boolean
  perAddress?: number
}

const connectionsRefused = counter(
  'mayfly_http_connections_refused_total',
  'Connections refused, by the limit that they exceeded: of one address, or of all',
  'limit',
  ['address', 'all'],
)

export const MAX_PER_ADDRESS = 1_000
// With few slots in all, one address gets at most a quarter.
const MAX_ADDRESS_SHARE = 1 / 4
// Per new connection above the limit, so that a flood cannot make us scan thousands of busy connections each time.
const MAX_EXAMINED = 64

interface HttpSocket extends Socket {
  /** Internal to Node: the response in progress. */
  _httpMessage?: unknown
  /** Internal to Node: the connection under TLS. */
  _parent?: Socket
}

/**
 * Limits connections per address (IPv6: per /64) and in all. At the overall limit, a new connection replaces an idle
 * keep-alive connection of the same thread, if one is soon found. Above a limit a connection is refused before a byte is read.
 */
export function limitConnections(
  server: Server,
  { slots, isExempt, requestId, isTls = false, perAddress = MAX_PER_ADDRESS }: ConnectionLimits,
): void {
  const open = new Map<Socket, () => void>()
  /** By connection: the socket that requests come from, which is another one with TLS. */
  const served = new WeakMap<Socket, HttpSocket>()
  const maxPerAddress = Math.max(1, Math.min(perAddress, Math.floor(slots.max * MAX_ADDRESS_SHARE)))
  const refuse = isTls ? (socket: Socket) => socket.destroy() : connectionRejecter(requestId)

  /** Closes one connection that has served a request and has none in progress, if one is soon found. */
  function closeIdle(): boolean {
    for (const [socket, release] of [...open.entries().take(MAX_EXAMINED)]) {
      const requests = served.get(socket)
      if (requests && !requests._httpMessage) {
        requests.destroy()
        release()
        return true
      }
      // To the end, so that the next scan begins with others.
      open.delete(socket)
      open.set(socket, release)
    }
    return false
  }

  function exceededLimit(socket: Socket): 'address' | 'all' | undefined {
    const ip = socket.remoteAddress ?? ''
    const address = isExempt(ip) ? undefined : `http ${rateLimitNetwork(ip)}`
    const releaseAddress =
      address === undefined ? () => {} : slots.acquireFor(address, maxPerAddress)
    if (!releaseAddress) return 'address'
    if (!slots.acquire() && !(closeIdle() && slots.acquire())) {
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

  server.on('request', ({ socket }: { socket: HttpSocket }) =>
    served.set(socket._parent ?? socket, socket),
  )
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
