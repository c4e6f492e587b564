import { readFileSync } from 'node:fs'
import type { Config } from '../config/config.ts'

// Assumed where the system does not say.
const USUAL_LIMIT = 1_024
// Databases, logs, children, and connections that are being refused.
const FILES = 192
const PER_THREAD = 16
const SMTP_SHARE = 1 / 4
const FEWEST = 16

/** How many files and sockets this process may have open. */
export function descriptorLimit(file = '/proc/self/limits'): number {
  try {
    const [, soft = USUAL_LIMIT] = /^Max open files +(\d+)/m.exec(readFileSync(file, 'utf8')) ?? []
    return Number(soft)
  } catch {
    return USUAL_LIMIT
  }
}

/** The settings with as many HTTP connections as leave descriptors for SMTP and for our own files. */
export function withinDescriptors(config: Config, limit: number): Config {
  const { http, smtp } = config
  const own = FILES + PER_THREAD * (http.threads + smtp.threads)
  const room = Math.max(FEWEST, Math.floor(limit * (1 - SMTP_SHARE)) - own)
  return room >= http.connections ? config : { ...config, http: { ...http, connections: room } }
}
