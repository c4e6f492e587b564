import { isIPv4, type Socket } from 'node:net'
import { plainIp } from '../core/ip.ts'
import type { Shared } from './connection.ts'
import { connections } from './metrics.ts'
import { parseProxyHeader } from './proxy-header.ts'
import { REPLIES } from './replies.ts'
import { talk } from './talk.ts'

/** Takes a client in: from a balancer only once its PROXY header has said who it is. */
export function arrive(shared: Shared, socket: Socket): void {
  socket.on('error', ignore)
  const peer = peerOf(socket)
  if (peer === undefined) socket.destroy()
  else if (shared.isProxy?.(peer)) waitForHeader(shared, socket, peer)
  else admit(shared, socket, peer)
}

// Networks fail all the time; what matters is the close that follows.
function ignore(): void {}

// The usual form first: the general one takes longer than greeting the client. Undefined: gone before we looked.
function peerOf({ remoteAddress = '' }: Socket): string | undefined {
  const ipv4 = remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress
  return isIPv4(ipv4) ? ipv4 : plainIp(remoteAddress)
}

function admit(shared: Shared, socket: Socket, ip: string, early?: Buffer): void {
  const release = shared.needs.holdConnection(ip)
  if (release) {
    connections.add('greeted')
    talk(shared, socket, { ip, release, early })
  } else {
    connections.add('refused')
    socket.end(REPLIES.tooManyConnections, () => socket.destroy())
  }
}

function waitForHeader(shared: Shared, socket: Socket, peer: string): void {
  let bytes = Buffer.alloc(0)
  shared.headerless.set(socket, shared.clock())
  socket.on('data', read).on('end', giveUp).on('close', forget)

  function read(chunk: Buffer): void {
    bytes = Buffer.concat([bytes, chunk])
    const header = parseProxyHeader(bytes)
    if (header === 'more') return
    socket.off('data', read).off('end', giveUp)
    forget()
    if (header === 'bad') {
      connections.add('bad_proxy_header')
      shared.needs.log.warn({ ip: peer }, 'closed: no PROXY header where one is required')
      socket.destroy()
      return
    }
    const ip = header.ip === undefined ? peer : (plainIp(header.ip) ?? peer)
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
