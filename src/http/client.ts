import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isLoopback, plainIp, rangeTest, rateAddress } from '../core/ip.ts'

/** Whose allowance a request is taken from; undefined when nobody counts. */
export type ClientOf = (request: IncomingMessage) => string | undefined

/** Loopback runs free, unless it is a proxy that speaks for others. */
export function clientFinder(trustProxy: readonly string[], counted: boolean): ClientOf {
  if (!counted) return () => undefined
  const trusts = trustProxy.length === 0 ? () => false : rangeTest(trustProxy)
  const direct = new WeakMap<Socket, { client: string | undefined }>()

  return ({ socket, headers }) => {
    const known = direct.get(socket)
    if (known) return known.client
    const peer = socket.remoteAddress ?? ''
    if (trusts(peer)) return rateAddress(forwardedBy(peer, headers['x-forwarded-for'], trusts))
    const client = isLoopback(peer) ? undefined : rateAddress(peer)
    direct.set(socket, { client })
    return client
  }
}

/** Where a request comes from, whether anybody counts or not. */
export function addressFinder(trustProxy: readonly string[]): (request: IncomingMessage) => string {
  const find = clientFinder(trustProxy, true)
  return (request) => find(request) ?? 'local'
}

/** Whether the browser speaks https: as the operator says of the site, or as a proxy of ours says of this request. */
export function secureFinder({
  baseUrl,
  trustProxy,
}: {
  baseUrl: string
  trustProxy: readonly string[]
}): (request: IncomingMessage) => boolean {
  if (baseUrl.startsWith('https:')) return () => true
  const trusts = trustProxy.length === 0 ? () => false : rangeTest(trustProxy)
  return ({ socket, headers }) => {
    // Of several proxies the first is the one that the browser speaks to.
    const scheme = String(headers['x-forwarded-proto'] ?? '').split(',', 1)[0]
    return scheme?.trim().toLowerCase() === 'https' && trusts(socket.remoteAddress ?? '')
  }
}

/** The nearest hop that is no proxy of ours: what stands further left, anybody may have written. */
function forwardedBy(
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
