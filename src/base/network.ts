import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { hasErrorCode } from './problem.ts'

/** All addresses of this machine. A public one may be on the loopback interface, as load balancers do it. */
export function machineAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .map(({ address }) => address)
}

/** `::` includes IPv4. On a machine without IPv6 it cannot be bound, so `0.0.0.0` is used instead. */
export async function listenHost(host: string): Promise<string> {
  if (host !== '::') return host
  try {
    await freePort(host, 0)
    return host
  } catch (error) {
    if (hasErrorCode(error, 'EAFNOSUPPORT', 'EADDRNOTAVAIL')) return '0.0.0.0'
    throw error
  }
}

/** Checks that the port is free with a plain bind: with reusePort, a foreign listener would share our connections. */
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
