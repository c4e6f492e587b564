import { isIPv4, type Socket } from 'node:net'
import { canonicalIp, plainIp } from '../core/ip.ts'
import type { Shared } from './connection.ts'
import { logFault } from './faults.ts'
import { arrivals } from './metrics.ts'
import { parseProxyHeader } from './proxy-header.ts'
import { REPLIES } from './replies.ts'
import { talk } from './session-loop.ts'

/** Takes a client in: from a balancer only once its PROXY header has said who it is. */
export function arrive(shared: Shared, socket: Socket): void {
  socket.on('error', ignore)
  const peer = peerOf(socket)
  if (peer === undefined) socket.destroy()
  else if (shared.isProxy?.(peer)) waitForHeader(shared, socket, peer)
  else guarded(shared, socket, { ip: peer, piece: () => admit(shared, socket, peer) })
}

// Networks fail all the time; what matters is the close that follows.
function ignore(): void {}

// The usual form first: the general one takes longer than greeting the client. Undefined: gone before we looked.
function peerOf({ remoteAddress = '' }: Socket): string | undefined {
  const ipv4 = remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress
  return isIPv4(ipv4) ? ipv4 : plainIp(remoteAddress)
}

function admit(shared: Shared, socket: Socket, ip: string, early?: Buffer): void {
  if (shared.draining) {
    arrivals.add('shutting_down')
    socket.end(REPLIES.shuttingDown, () => socket.destroy())
    return
  }
  const release = shared.needs.holdConnection(ip)
  if (release) {
    arrivals.add('greeted')
    talk(shared, socket, { ip, release, early })
  } else {
    arrivals.add('refused')
    socket.end(REPLIES.tooManyConnections, () => socket.destroy())
  }
}

/** As for those who talk: a fault of ours turns this client away, and no other. */
function guarded(
  { needs }: Shared,
  socket: Socket,
  { ip, piece }: { ip: string; piece: () => void },
): void {
  try {
    piece()
  } catch (err) {
    logFault(needs, ip, err)
    arrivals.add('fault')
    socket.end(REPLIES.faultOfOurs, () => socket.destroy())
  }
}

function waitForHeader(shared: Shared, socket: Socket, peer: string): void {
  let bytes = Buffer.alloc(0)
  shared.headerless.set(socket, shared.clock())
  socket.on('data', listen).on('end', giveUp).on('close', forget)

  function listen(chunk: Buffer): void {
    guarded(shared, socket, { ip: peer, piece: () => read(chunk) })
  }

  function read(chunk: Buffer): void {
    bytes = Buffer.concat([bytes, chunk])
    const header = parseProxyHeader(bytes)
    if (header === 'more') return
    socket.off('data', listen).off('end', giveUp)
    forget()
    if (header === 'bad') {
      arrivals.add('bad_proxy_header')
      socket.destroy()
      shared.needs.log.warn({ ip: peer }, 'closed: no PROXY header where one is required')
      return
    }
    const ip = header.ip === undefined ? peer : (canonicalIp(header.ip) ?? peer)
    const early = bytes.subarray(header.length)
    admit(shared, socket, ip, early.length > 0 ? early : undefined)
  }

  function giveUp(): void {
    socket.destroy()
  }

  function forget(): void {
    shared.headerless.delete(socket)
  }
}
