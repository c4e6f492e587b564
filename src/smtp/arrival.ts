import type { Socket } from 'node:net'
import { plainIp } from '../core/ip.ts'
import { type Connection, leave, type Shared, talk } from './connection.ts'
import { checkDeadlines } from './deadlines.ts'
import { connections } from './metrics.ts'
import { parseProxyHeader } from './proxy-header.ts'
import { REPLIES } from './replies.ts'

/** A client from its first packet on. */
export interface Arrival {
  check(now: number): void
  leave(): void
  destroy(): void
}

export function arrive(
  shared: Shared,
  socket: Socket,
  isProxy: (ip: string) => boolean,
): Arrival | undefined {
  const peer = plainIp(socket.remoteAddress ?? '')
  socket.on('error', () => {}) // networks fail all the time; what matters is the close that follows
  if (peer === undefined) {
    socket.destroy() // gone before we looked
    return undefined
  }
  if (isProxy(peer)) return behindProxy(shared, socket, peer)
  const connection = admit(shared, socket, peer)
  return connection && arrivalOf(connection)
}

function admit(shared: Shared, socket: Socket, ip: string, early?: Buffer): Connection | undefined {
  const release = shared.needs.holdConnection(ip)
  if (!release) {
    connections.inc({ start: 'refused' })
    socket.end(REPLIES.tooManyConnections, () => socket.destroy())
    return undefined
  }
  connections.inc({ start: 'greeted' })
  socket.once('close', release)
  return talk(shared, socket, ip, early)
}

function arrivalOf(connection: Connection): Arrival {
  return {
    check: (now) => checkDeadlines(connection, now),
    leave: () => leave(connection),
    destroy: () => connection.socket.destroy(),
  }
}

/** Waits for the PROXY header; only then do we know whom to greet. */
function behindProxy(shared: Shared, socket: Socket, peer: string): Arrival {
  const since = shared.clock()
  let arrival: Arrival | undefined
  let bytes = Buffer.alloc(0)

  function read(chunk: Buffer): void {
    bytes = Buffer.concat([bytes, chunk])
    const header = parseProxyHeader(bytes)
    if (header === 'more') return
    socket.off('data', read).off('end', giveUp)
    if (header === 'bad') {
      connections.inc({ start: 'bad_proxy_header' })
      shared.needs.log.warn({ ip: peer }, 'closed: no PROXY header where one is required')
      socket.destroy()
      return
    }
    const rest = bytes.subarray(header.length)
    const early = rest.length > 0 ? rest : undefined
    const connection = admit(shared, socket, (header.ip && plainIp(header.ip)) || peer, early)
    arrival = connection && arrivalOf(connection)
  }

  function giveUp(): void {
    socket.destroy()
  }

  socket.on('data', read).on('end', giveUp)
  return {
    check(now) {
      if (arrival) arrival.check(now)
      else if (now - since > shared.times.handshakeMs) socket.destroy()
    },
    leave: () => (arrival ? arrival.leave() : socket.destroy()),
    destroy: () => (arrival ? arrival.destroy() : socket.destroy()),
  }
}
