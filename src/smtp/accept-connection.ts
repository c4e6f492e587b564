import { isIPv4, isIPv6, type Socket } from 'node:net'
import { canonicalIp, plainIp } from '../base/ip.ts'
import { logInternalError, type ServerContext } from './connection.ts'
import { logRefusedConnection } from './log-lines.ts'
import { connectionCounts } from './metrics.ts'
import { REPLIES } from './replies.ts'
import { runSession } from './session-loop.ts'

/** Starts a session. A connection of a load balancer has to send its PROXY header first. */
export function acceptConnection(server: ServerContext, socket: Socket): void {
  // Network errors are expected; the close event that follows is handled.
  socket.on('error', () => {})
  const peer = peerAddress(socket)
  if (peer === undefined) socket.destroy()
  else if (server.isProxy?.(peer)) readProxyHeader(server, socket, peer)
  else guard(server, socket, peer, () => acceptClient(server, socket, peer))
}

// IPv4 first: plainIp takes longer than greeting the client. Undefined if the client is already gone.
function peerAddress({ remoteAddress = '' }: Socket): string | undefined {
  const ipv4 = remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress
  return isIPv4(ipv4) ? ipv4 : plainIp(remoteAddress)
}

function acceptClient(server: ServerContext, socket: Socket, ip: string, early?: Buffer): void {
  const turnAway = (reason: Reason, reply: string) => {
    logRefusedConnection(server, ip, reply)
    refuse(socket, reason, reply)
  }
  if (server.draining) {
    turnAway('shutting_down', REPLIES.shuttingDown)
    return
  }
  const release = server.deps.acquireConnection(ip)
  if (release) {
    const blocked = server.deps.isBlocked({ ip })
    connectionCounts.add(blocked ? 'blocked' : 'greeted')
    runSession(server, socket, { ip, blocked, release, early })
  } else turnAway('too_many_connections', REPLIES.tooManyConnections)
}

type Reason = 'too_many_connections' | 'shutting_down' | 'fault'

function refuse(socket: Socket, reason: Reason, reply: string): void {
  connectionCounts.add(reason)
  socket.end(reply, () => socket.destroy())
}

/** An unexpected error closes this connection and no other. */
function guard({ deps }: ServerContext, socket: Socket, ip: string, callback: () => void): void {
  try {
    callback()
  } catch (err) {
    logInternalError(deps, ip, err)
    refuse(socket, 'fault', REPLIES.internalErrorClosing)
  }
}

function readProxyHeader(server: ServerContext, socket: Socket, peer: string): void {
  let bytes = Buffer.alloc(0)
  const listen = (chunk: Buffer) => guard(server, socket, peer, () => read(chunk))
  const giveUp = () => socket.destroy()
  const forget = () => server.awaitingProxyHeader.delete(socket)
  server.awaitingProxyHeader.set(socket, server.clock())
  socket.on('data', listen).on('end', giveUp).on('close', forget)

  function read(chunk: Buffer): void {
    bytes = Buffer.concat([bytes, chunk])
    const header = parseProxyHeader(bytes)
    if (header === 'more') return
    socket.off('data', listen).off('end', giveUp)
    forget()
    if (header === 'bad') {
      connectionCounts.add('bad_proxy_header')
      socket.destroy()
      server.deps.log.warn({ ip: peer }, 'closed: no PROXY header where one is required')
      return
    }
    const ip = header.ip === undefined ? peer : (canonicalIp(header.ip) ?? peer)
    const early = bytes.subarray(header.length)
    acceptClient(server, socket, ip, early.length > 0 ? early : undefined)
  }
}

/** ip is undefined for a connection of the load balancer itself, such as a health check. */
type ProxyHeader = { length: number; ip: string | undefined } | 'more' | 'bad'

const V2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const V1 = Buffer.from('PROXY ')
const V1_MAX_BYTES = 107
// Addresses take 36 bytes; the rest are TLVs that we skip. No load balancer sends more than this.
const V2_MAX_BYTES = 2_048

/** Reads a PROXY protocol header, version 1 or 2, from the first bytes of a connection. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader {
  if (matchesPrefix(bytes, V2)) return bytes.length < 16 ? 'more' : parseVersion2(bytes)
  if (matchesPrefix(bytes, V1)) return parseVersion1(bytes)
  return 'bad'
}

function matchesPrefix(bytes: Buffer, prefix: Buffer): boolean {
  const length = Math.min(bytes.length, prefix.length)
  return bytes.compare(prefix, 0, length, 0, length) === 0
}

function parseVersion1(bytes: Buffer): ProxyHeader {
  const line = bytes.subarray(0, V1_MAX_BYTES)
  const lf = line.indexOf(0x0a)
  if (lf === -1) return line.length < V1_MAX_BYTES ? 'more' : 'bad'
  const text = line.toString('latin1', 0, lf + 1)
  if (!text.endsWith('\r\n')) return 'bad'
  const [, protocol, ...fields] = text.slice(0, -2).split(' ')
  if (protocol === 'UNKNOWN') return { length: lf + 1, ip: undefined }
  const isAddress = protocol === 'TCP4' ? isIPv4 : protocol === 'TCP6' ? isIPv6 : () => false
  const [source = '', target = '', sourcePort = '', targetPort = ''] = fields
  const isValid = [source, target].every(isAddress) && [sourcePort, targetPort].every(isPort)
  return isValid && fields.length === 4 ? { length: lf + 1, ip: source } : 'bad'
}

function isPort(text: string): boolean {
  return /^(0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535
}

function parseVersion2(bytes: Buffer): ProxyHeader {
  const command = bytes.readUInt8(12)
  const family = bytes.readUInt8(13)
  const length = 16 + bytes.readUInt16BE(14)
  const isLocal = command === 0x20
  const addressBytes = family === 0x11 ? 12 : family === 0x21 ? 36 : 0
  if ((command !== 0x21 && !isLocal) || length > V2_MAX_BYTES) return 'bad'
  // Proxied connections are TCP over IPv4 or IPv6.
  if (!isLocal && (addressBytes === 0 || length < 16 + addressBytes)) return 'bad'
  if (bytes.length < length) return 'more'
  if (isLocal) return { length, ip: undefined }
  return { length, ip: family === 0x11 ? bytes.subarray(16, 20).join('.') : ipv6At(bytes, 16) }
}

// The URL parser yields the canonical form with the longest run of zeros compressed.
function ipv6At(bytes: Buffer, at: number): string {
  const groups = bytes.toString('hex', at, at + 16).match(/.{4}/g) ?? []
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}
