import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Config } from './config.ts'

// Assumed if the limit is unknown.
const DEFAULT_LIMIT = 1_024
// Databases, logs, child processes, and connections that are being refused.
const OWN_DESCRIPTORS = 192
const PER_THREAD = 16
const SMTP_SHARE = 1 / 4
const MIN_CONNECTIONS = 16

export function descriptorLimit(file = '/proc/self/limits'): number {
  try {
    const [, soft = DEFAULT_LIMIT] =
      /^Max open files +(\d+)/m.exec(readFileSync(file, 'utf8')) ?? []
    return Number(soft)
  } catch {
    return DEFAULT_LIMIT
  }
}

/** Limits the HTTP connections so that descriptors are left for SMTP and our own files. */
export function limitConnections(config: Config, limit: number): Config {
  const { http, smtp } = config
  const own = OWN_DESCRIPTORS + PER_THREAD * (http.threads + smtp.threads)
  const room = Math.max(MIN_CONNECTIONS, Math.floor(limit * (1 - SMTP_SHARE)) - own)
  return room >= http.connections ? config : { ...config, http: { ...http, connections: room } }
}

/** `::` includes IPv4. On a machine without IPv6 it cannot be bound, so `0.0.0.0` is used instead. */
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
