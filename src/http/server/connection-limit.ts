import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { rateLimitNetwork } from '../../core/ip.ts'
import { Problem } from '../../core/problem.ts'
import { connectionsRefused } from './metrics.ts'
import { rawProblemResponse } from './problem-response.ts'

/** Connections of this node, counted over all of its threads. */
export interface ConnectionSlots {
  /** How many there may be in all. */
  most: number
  /** False when all are taken. */
  take(): boolean
  giveBack(): void
  /** One more with this name, until the returned function is called; undefined when there are `most` of them. */
  hold(name: string, most: number): (() => void) | undefined
}

interface ConnectionLimits {
  slots: ConnectionSlots
  /** Not limited by address: loopback, and proxies that speak for others. */
  isExempt(ip: string): boolean
  requestId(): string
  perAddress?: number
}

const MAX_PER_ADDRESS = 1_000
// Where there is little room for all, one address has a quarter of it at most.
const MAX_ADDRESS_SHARE = 1 / 4
const EVICTION_INTERVAL_MS = 250
const EVICTED_SHARE = 1 / 4

interface HttpSocket extends Socket {
  /** Node's own name for the answer that is being made on this socket. */
  _httpMessage?: unknown
}

/**
 * Limits the connections of each address (IPv6: of each /64) and of all together. At the limit of all, idle keep-alive
 * connections are closed to make room. Whoever still exceeds a limit is refused before a byte is read.
 */
export function limitConnections(
  server: Server,
  { slots, isExempt, requestId, perAddress = MAX_PER_ADDRESS }: ConnectionLimits,
): void {
  const open = new Map<HttpSocket, () => void>()
  const served = new WeakSet<HttpSocket>()
  const mostPerAddress = Math.max(
    1,
    Math.min(perAddress, Math.floor(slots.most * MAX_ADDRESS_SHARE)),
  )
  const refuse = connectionRejecter(requestId)
  let lastEvictionAt = Number.NEGATIVE_INFINITY

  /** Closes the oldest connections on which a request was answered and none is pending. */
  function closeIdle(): void {
    // Looking at all connections takes time: a flood must not make us do it for each of its own.
    if (performance.now() - lastEvictionAt < EVICTION_INTERVAL_MS) return
    lastEvictionAt = performance.now()
    let wanted = Math.ceil(open.size * EVICTED_SHARE)
    for (const [socket, release] of open) {
      if (wanted === 0) return
      if (!served.has(socket) || socket._httpMessage) continue
      socket.destroy()
      release()
      wanted -= 1
    }
  }

  function acquireSlot(): boolean {
    if (slots.take()) return true
    closeIdle()
    return slots.take()
  }

  function exceededLimit(socket: HttpSocket): 'address' | 'all' | undefined {
    const ip = socket.remoteAddress ?? ''
    const address = isExempt(ip) ? undefined : `http ${rateLimitNetwork(ip)}`
    const leave = address === undefined ? () => {} : slots.hold(address, mostPerAddress)
    if (!leave) return 'address'
    if (!acquireSlot()) {
      leave()
      return 'all'
    }
    const release = () => {
      if (!open.delete(socket)) return
      leave()
      slots.giveBack()
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
      connectionsRefused.inc({ limit })
      refuse(socket)
    }
  })
}

const MAX_LINGERING = 64
const LINGER_MS = 1_000

/**
 * Answers 503 and closes. What the client sends is discarded for a moment: closing on unread bytes would reset the connection
 * and take the answer with it. Only a few may linger so, the others are closed at once.
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
