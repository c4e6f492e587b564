import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { rateAddress } from '../../core/ip.ts'
import { Problem } from '../../core/problem.ts'
import { connectionsRefused } from './metrics.ts'
import { rawRefusal } from './parser-fault.ts'

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

const PER_ADDRESS = 1_000
// Where there is little room for all, one address has a quarter of it at most.
const SHARE = 1 / 4
const ROOM_MS = 250
const ROOM_SHARE = 1 / 4

interface ServedSocket extends Socket {
  /** Node's own name for the answer that is being made on this socket. */
  _httpMessage?: unknown
}

/**
 * Limits the connections of each address (IPv6: of each /64) and of all together. At the limit of all, idle keep-alive
 * connections are closed to make room. Whoever still exceeds a limit is refused before a byte is read.
 */
export function limitConnections(
  server: Server,
  { slots, isExempt, requestId, perAddress = PER_ADDRESS }: ConnectionLimits,
): void {
  const open = new Map<ServedSocket, () => void>()
  const served = new WeakSet<ServedSocket>()
  const mostPerAddress = Math.max(1, Math.min(perAddress, Math.floor(slots.most * SHARE)))
  const refuse = refuser(requestId)
  let madeRoomAt = Number.NEGATIVE_INFINITY

  /** Closes the oldest connections on which a request was answered and none is pending. */
  function makeRoom(): void {
    // Looking at all connections takes time: a flood must not make us do it for each of its own.
    if (performance.now() - madeRoomAt < ROOM_MS) return
    madeRoomAt = performance.now()
    let wanted = Math.ceil(open.size * ROOM_SHARE)
    for (const [socket, release] of open) {
      if (wanted === 0) return
      if (!served.has(socket) || socket._httpMessage) continue
      socket.destroy()
      release()
      wanted -= 1
    }
  }

  function isTaken(): boolean {
    if (slots.take()) return true
    makeRoom()
    return slots.take()
  }

  function admit(socket: ServedSocket): 'address' | 'all' | undefined {
    const ip = socket.remoteAddress ?? ''
    const address = isExempt(ip) ? undefined : `http ${rateAddress(ip)}`
    const leave = address === undefined ? () => {} : slots.hold(address, mostPerAddress)
    if (!leave) return 'address'
    if (!isTaken()) {
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
    const limit = admit(socket)
    if (limit === undefined) for (const listener of accept) listener.call(server, socket)
    else {
      connectionsRefused.inc({ limit })
      refuse(socket)
    }
  })
}

const MOST_LINGERING = 64
const LINGER_MS = 1_000

/**
 * Answers 503 and closes. What the client sends is discarded for a moment: closing on unread bytes would reset the connection
 * and take the answer with it. Only a few may linger so, the others are closed at once.
 */
function refuser(requestId: () => string): (socket: Socket) => void {
  let lingering = 0
  return (socket) => {
    if (lingering === MOST_LINGERING) {
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
    socket.end(rawRefusal(problem, requestId()))
    socket.resume()
  }
}
