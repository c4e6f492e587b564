import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import {
  ipRangeMatcher,
  isLoopback,
  isPrivateIp,
  plainIp,
  rateLimitNetwork,
} from '../../base/ip.ts'
import type { Log } from '../../base/log/log.ts'
import type { HttpRequest } from './request.ts'

/** Who sends a request, seen through the proxies that the operator trusts. */
export interface ClientAddresses {
  /** Rate-limit key of the client; undefined if rate limits do not apply. */
  clientOf(request: IncomingMessage): string | undefined
  /** Distinguishes clients regardless of rate limits. */
  sourceAddressOf(request: IncomingMessage): string
  /** True for requests of a trusted proxy itself, such as health checks. */
  isTrustedProxy(request: IncomingMessage): boolean
  /** Whether the client uses https: here, by the configured base URL, or by X-Forwarded-Proto of a trusted proxy. */
  isSecure(request: IncomingMessage): boolean
  /** Whether it uses https at a trusted proxy. */
  isSecureAtProxy(request: IncomingMessage): boolean
  /** Whether others could read it on its way: it came from the Internet without TLS. What a trusted proxy forwards is not known. */
  isExposed(request: IncomingMessage): boolean
}

interface ProxyConfig {
  baseUrl: string
  trustProxy: readonly string[]
  rateLimits: boolean
  onUntrustedProxy(peer: string): void
}

/**
 * Loopback is exempt from rate limits, unless it is a trusted proxy: then the forwarded address counts. An untrusted proxy may
 * hide any number of clients, so everything it forwards counts as one.
 */
export function clientAddresses(config: ProxyConfig): ClientAddresses {
  const { baseUrl, trustProxy, rateLimits, onUntrustedProxy } = config
  const trusts = trustProxy.length === 0 ? () => false : ipRangeMatcher(trustProxy)
  const direct = new WeakMap<Socket, { client: string | undefined }>()

  /** Undefined for loopback. Kept per connection: to parse an IPv6 address takes as long as to serve a poll from memory. */
  function directClient(socket: Socket): string | undefined {
    const known = direct.get(socket)
    if (known) return known.client
    const peer = peerOf(socket)
    const client = isLoopback(peer) ? undefined : rateLimitNetwork(peer)
    direct.set(socket, { client })
    return client
  }

  const forwardedClient = (peer: string, headers: IncomingHttpHeaders) =>
    rateLimitNetwork(forwardedAddress(peer, headers['x-forwarded-for'], trusts))

  function isSecureAtProxy({ socket, headers }: IncomingMessage): boolean {
    // With several proxies, the first is the one the client connects to.
    const scheme = String(headers['x-forwarded-proto'] ?? '').split(',', 1)[0]
    return scheme?.trim().toLowerCase() === 'https' && trusts(peerOf(socket))
  }

  return {
    clientOf({ socket, headers }) {
      const peer = peerOf(socket)
      if (trusts(peer)) return rateLimits ? forwardedClient(peer, headers) : undefined
      const isProxy = isForwarded(headers)
      if (isProxy) onUntrustedProxy(peer)
      if (!rateLimits) return undefined
      return directClient(socket) ?? (isProxy ? UNTRUSTED_LOCAL_PROXY : undefined)
    },
    sourceAddressOf({ socket, headers }) {
      const peer = peerOf(socket)
      if (trusts(peer)) return forwardedClient(peer, headers)
      const address = directClient(socket) ?? 'local'
      // Headers of an untrusted proxy may be forged, but they still distinguish its clients.
      if (!isForwarded(headers)) return address
      return JSON.stringify([address, headers['x-forwarded-for'], headers.forwarded])
    },
    isTrustedProxy: ({ socket, headers }) => !isForwarded(headers) && trusts(peerOf(socket)),
    isSecure: (request) =>
      baseUrl.startsWith('https:') || 'encrypted' in request.socket || isSecureAtProxy(request),
    isSecureAtProxy,
    isExposed({ socket }) {
      const peer = peerOf(socket)
      return !('encrypted' in socket) && !trusts(peer) && !isPrivateIp(peer)
    },
  }
}

const UNTRUSTED_LOCAL_PROXY = 'untrusted local proxy'

function peerOf({ remoteAddress = '' }: Socket): string {
  return remoteAddress
}

const MAX_WARNINGS = 5

/** Warns once per address, and about few of them, because anybody can send such a header. Loopback is always reported. */
export function untrustedProxyWarning(
  log: Pick<Log, 'warn'>,
  isFirst: (address: string) => boolean,
): (peer: string) => void {
  const known = new Set<string>()
  let remote = 0
  return (peer) => {
    const isLocal = isLoopback(peer)
    if (!isLocal && remote === MAX_WARNINGS) return
    const address = isLocal ? 'local' : rateLimitNetwork(peer)
    if (known.has(address)) return
    known.add(address)
    if (!isLocal) remote += 1
    // Another thread may have warned already.
    if (!isFirst(address)) return
    const setting = `MAYFLY_TRUST_PROXY=${plainIp(peer) ?? ''}`
    log.warn(
      { ip: peer, setting },
      'X-Forwarded-For or Forwarded from an untrusted address: all of its requests count as one client. If it is your proxy, set this',
    )
  }
}

function isForwarded(headers: IncomingHttpHeaders): boolean {
  return headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined
}

/** The nearest hop that is not a trusted proxy. Entries further left may be forged. */
function forwardedAddress(
  peer: string,
  header: string | string[] | undefined,
  trusts: (ip: string) => boolean,
): string {
  const hops = String(header ?? '').split(',')
  let nearest = peer
  for (const hop of hops.toReversed()) {
    const ip = plainIp(withoutPort(hop.trim()))
    if (ip === undefined) return nearest
    nearest = ip
    if (!trusts(ip)) return nearest
  }
  return nearest
}

/** Some proxies add the port, and brackets around IPv6. */
function withoutPort(hop: string): string {
  const [, six, four] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(hop) ?? []
  return six ?? four ?? hop
}

/**
 * Whether the Origin header names the configured URL, or the host that the request was sent to. To an https service, pages of
 * http are foreign: somebody in the network may have written them. Without a trusted proxy we may not know that we are one.
 */
export function isOwnOrigin(
  { headers: { origin = '', host }, secure }: Pick<HttpRequest, 'headers' | 'secure'>,
  baseUrl: string,
): boolean {
  const named = URL.parse(origin)
  // An origin has neither user info nor a path, and is in lower case.
  if (!named || named.origin !== origin) return false
  if (origin === URL.parse(baseUrl)?.origin) return true
  return named.host === host?.toLowerCase() && (named.protocol === 'https:' || !secure())
}

/** The public URL: as configured, else from the Host header. */
export function siteUrl(
  baseUrl: string,
  { headers: { host = '' }, secure }: Pick<HttpRequest, 'headers' | 'secure'>,
): string {
  if (baseUrl !== '') return baseUrl
  // Host is client input: only a name and a port are accepted.
  return `${secure() ? 'https' : 'http'}://${/^[a-z0-9.:[\]-]{1,255}$/i.test(host) ? host : 'HOST'}`
}
