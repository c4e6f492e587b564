import type { Log } from '../core/log.ts'
import type { RedisServer } from './client.ts'

export type Outages = ReturnType<typeof openOutages>

/** Says once that a server is away, however often it is tried in vain, and once that it is back. */
export function openOutages(log: Log, password: string | undefined) {
  const away = new Set<string>()
  let refusedAt = Number.NEGATIVE_INFINITY
  // A server that does not know a command repeats it, and logging in is one.
  const hidden = (text: string) => (password ? text.replaceAll(password, '…') : text)

  return {
    begin({ name }: RedisServer, fault: Error): void {
      if (away.has(name)) return
      away.add(name)
      // Of several addresses of one name that all refuse, the error has no text of its own.
      const reason = fault.message || ('code' in fault ? String(fault.code) : fault.name)
      log.warn({ redis: name, reason: hidden(reason) }, AWAY)
    },
    end({ name }: RedisServer): void {
      if (away.delete(name)) log.info({ redis: name }, 'Redis is back')
    },
    /** It is there, and does not do what it is asked: no room, no right, no Cluster. Other faults are not its answers. */
    refuse({ name }: RedisServer, fault: unknown): void {
      if (!(fault instanceof Error && REFUSAL.test(fault.message))) return
      if (performance.now() - refusedAt < REFUSED_MS) return
      refusedAt = performance.now()
      log.warn({ redis: name, reason: hidden(fault.message) }, 'Redis refuses what it is asked')
    },
  }
}

const AWAY = 'Redis is away: who waits for mail looks by himself, rates are counted by each node'
const REFUSED_MS = 60_000
// A script that it does not know yet is told it.
const REFUSAL = /^(?!NOSCRIPT)[A-Z]+ /
