import { createServer } from 'node:net'

/** `::` takes IPv4 as well. On a machine without IPv6 it cannot be bound, and all addresses are `0.0.0.0`. */
export async function listenHost(host: string): Promise<string> {
  if (host !== '::') return host
  const there = await freePort(host, 0).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && NO_IPV6.has(String(error.code)))
      return undefined
    throw error
  })
  return there === undefined ? '0.0.0.0' : host
}

const NO_IPV6 = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL'])

/** Shows by a plain bind that nobody has the port: with reusePort a stranger's listener would share our mail. */
export async function freePort(host: string, port: number): Promise<number> {
  const server = createServer()
  const bound = Promise.withResolvers<number>()
  server.once('error', bound.reject)
  server.listen({ host, port }, () => {
    const address = server.address()
    bound.resolve(typeof address === 'object' && address ? address.port : port)
  })
  const number = await bound.promise
  await new Promise((closed) => server.close(closed))
  return number
}
