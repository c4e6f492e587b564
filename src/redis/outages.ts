import type { Log } from '../base/log/log.ts'

/** Logs an outage once, however many attempts fail, and its end once. */
export function openOutages(log: Log, { name, password }: { name: string; password: string }) {
  let isUnavailable = false
  let rejectedAt = Number.NEGATIVE_INFINITY
  // A server echoes a command that it does not know, and AUTH is one.
  const redacted = (text: string) => (password ? text.replaceAll(password, '…') : text)

  return {
    begin(error: Error): void {
      if (isUnavailable) return
      isUnavailable = true
      // If all addresses of a name refuse, the error has no message of its own.
      const reason = error.message || ('code' in error ? String(error.code) : error.name)
      log.warn({ redis: name, reason: redacted(reason) }, UNAVAILABLE)
    },
    end(): void {
      if (isUnavailable) log.info({ redis: name }, 'Redis is available again')
      isUnavailable = false
    },
    /** Logs an error reply, such as out of memory or no permission; ignores other errors. */
    rejected(error: unknown): void {
      if (!(error instanceof Error && ERROR_REPLY.test(error.message))) return
      if (performance.now() - rejectedAt < REJECTED_LOG_MS) return
      rejectedAt = performance.now()
      log.warn({ redis: name, reason: redacted(error.message) }, 'Redis rejected a command')
    },
  }
}

const UNAVAILABLE =
  'Redis is unavailable: waiting clients poll, and each node counts rates by itself'
const REJECTED_LOG_MS = 60_000
// A missing script is loaded by the caller.
const ERROR_REPLY = /^(?!NOSCRIPT)[A-Z]+ /
