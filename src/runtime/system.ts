import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Config } from '../config/config.ts'

// Assumed where the system does not say.
const DEFAULT_LIMIT = 1_024
// Databases, logs, children, and connections that are being refused.
const OWN_DESCRIPTORS = 192
const PER_THREAD = 16
const SMTP_SHARE = 1 / 4
const MIN_CONNECTIONS = 16

/** How many files and sockets this process may have open. */
export function descriptorLimit(file = '/proc/self/limits'): number {
  try {
    const [, soft = DEFAULT_LIMIT] =
      /^Max open files +(\d+)/m.exec(readFileSync(file, 'utf8')) ?? []
    return Number(soft)
  } catch {
    return DEFAULT_LIMIT
  }
}

/** The settings with as many HTTP connections as leave descriptors for SMTP and for our own files. */
export function limitConnections(config: Config, limit: number): Config {
  const { http, smtp } = config
  const own = OWN_DESCRIPTORS + PER_THREAD * (http.threads + smtp.threads)
  const room = Math.max(MIN_CONNECTIONS, Math.floor(limit * (1 - SMTP_SHARE)) - own)
  return room >= http.connections ? config : { ...config, http: { ...http, connections: room } }
}

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
