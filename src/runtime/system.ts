import { readFileSync } from 'node:fs'
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
