import { readFileSync } from 'node:fs'
import type { Config } from '../config.ts'

// Assumed where the system does not say.
const USUAL_LIMIT = 1_024
// Databases, logs, children, and connections that are being refused.
const FILES = 192
const PER_THREAD = 16
const SMTP_SHARE = 1 / 4
const FEWEST = 16

/** How many files and sockets this process may have open; undefined where the system does not say. */
export function descriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** The settings with as many HTTP connections as leave descriptors for SMTP and for our own files. */
export function withinDescriptors(config: Config, limit = USUAL_LIMIT): Config {
  const { http, smtp } = config
  const own = FILES + PER_THREAD * (http.threads + smtp.threads)
  const room = Math.max(FEWEST, Math.floor(limit * (1 - SMTP_SHARE)) - own)
  return room >= http.connections ? config : { ...config, http: { ...http, connections: room } }
}
