import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { ipRangeMatcher, isLoopback, plainIp, rateLimitNetwork } from '../../core/ip.ts'
import type { Log } from '../../core/log.ts'
import type { HttpRequest } from './route.ts'

/** Whose allowance a request is taken from; undefined when nobody counts. */
export type ClientOf = (request: IncomingMessage) => string | undefined

/**
 * Requests from this machine are not counted, unless they come from a proxy that speaks for others. One that is not trusted
 * may hide any number of clients: all that it forwards count as one.
 */
export function clientFinder(
  trustProxy: readonly string[],
  counted: boolean,
  onUntrustedProxy: (peer: string) => void = () => {},
): ClientOf {
  const trusts = trustTest(trustProxy)
  const direct = new WeakMap<Socket, { client: string | undefined }>()

  function directClient(socket: Socket, peer: string): string | undefined {
    const known = direct.get(socket)
    if (known) return known.client
    const client = isLoopback(peer) ? undefined : rateLimitNetwork(peer)
    direct.set(socket, { client })
    return client
  }

  const find: ClientOf = ({ socket, headers }) => {
    const peer = socket.remoteAddress ?? ''
    if (trusts(peer))
      return rateLimitNetwork(forwardedAddress(peer, headers['x-forwarded-for'], trusts))
    const client = directClient(socket, peer)
    if (!isForwarded(headers)) return client
    onUntrustedProxy(peer)
    return client ?? UNTRUSTED_LOCAL_PROXY
  }
  return counted
    ? find
    : (request) => {
        find(request)
        return undefined
      }
}

const UNTRUSTED_LOCAL_PROXY = 'untrusted local proxy'

/** True if a trusted proxy asks for itself, such as for a health check. */
export function trustedProxyTest(
  trustProxy: readonly string[],
): (request: IncomingMessage) => boolean {
  const trusts = trustTest(trustProxy)
  return ({ socket, headers }) => !isForwarded(headers) && trusts(socket.remoteAddress ?? '')
}

/**
 * Tells clients apart, whether anybody counts or not. What an untrusted proxy forwards may be forged, but it still keeps
 * apart those who come through it.
 */
export function sourceAddressFinder(
  trustProxy: readonly string[],
): (request: IncomingMessage) => string {
  const trusts = trustTest(trustProxy)
  return ({ socket, headers }) => {
    const peer = socket.remoteAddress ?? ''
    if (trusts(peer))
      return rateLimitNetwork(forwardedAddress(peer, headers['x-forwarded-for'], trusts))
    const address = isLoopback(peer) ? 'local' : rateLimitNetwork(peer)
    if (!isForwarded(headers)) return address
    return JSON.stringify([address, headers['x-forwarded-for'], headers.forwarded])
  }
}

const MAX_WARNINGS = 5

/** Warns once per address, and about few: anybody can send such a header. This machine is always told about. */
export function untrustedProxyWarning(
  log: Pick<Log, 'warn'>,
  isFirst: (address: string) => boolean,
): (peer: string) => void {
  const known = new Set<string>()
  let strangers = 0
  return (peer) => {
    const isLocal = isLoopback(peer)
    if (!isLocal && strangers === MAX_WARNINGS) return
    const address = isLocal ? 'local' : rateLimitNetwork(peer)
    if (known.has(address)) return
    known.add(address)
    if (!isLocal) strangers += 1
    // Another thread may have told already.
    if (!isFirst(address)) return
    const setting = `MAYFLY_TRUST_PROXY=${plainIp(peer) ?? ''}`
    log.warn(
      { ip: peer, setting },
      'X-Forwarded-For or Forwarded from an address that is not a trusted proxy: all of its requests count as one client. If it is your proxy, trust it with this setting',
    )
  }
}

function trustTest(trustProxy: readonly string[]): (ip: string) => boolean {
  return trustProxy.length === 0 ? () => false : ipRangeMatcher(trustProxy)
}

function isForwarded(headers: IncomingHttpHeaders): boolean {
  return headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined
}

/** Whether the browser speaks https: as the operator says of the site, or as a proxy of ours says of this request. */
export function httpsTest({
  baseUrl,
  trustProxy,
}: {
  baseUrl: string
  trustProxy: readonly string[]
}): (request: IncomingMessage) => boolean {
  if (baseUrl.startsWith('https:')) return () => true
  const trusts = trustTest(trustProxy)
  return ({ socket, headers }) => {
    // Of several proxies the first is the one that the browser speaks to.
    const scheme = String(headers['x-forwarded-proto'] ?? '').split(',', 1)[0]
    return scheme?.trim().toLowerCase() === 'https' && trusts(socket.remoteAddress ?? '')
  }
}

/** The nearest hop that is no proxy of ours: what stands further left, anybody may have written. */
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

/** Some proxies write the port too, and IPv6 in brackets. */
function withoutPort(hop: string): string {
  const [, six, four] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(hop) ?? []
  return six ?? four ?? hop
}

/** Where we are reached: as the operator says, else as the reader reached us, or a blank to fill in. */
export function siteUrl(
  baseUrl: string,
  { headers: { host = '' }, secure }: Pick<HttpRequest, 'headers' | 'secure'>,
): string {
  if (baseUrl !== '') return baseUrl
  // A name and a port and nothing else: what stands there is the reader's word.
  return `${secure() ? 'https' : 'http'}://${/^[a-z0-9.:[\]-]{1,255}$/i.test(host) ? host : 'HOST'}`
}
