import type { IncomingHttpHeaders } from 'node:http'
import type { ApiKey } from '../../keys/rules.ts'

export interface HttpRequest {
  method: string
  headers: IncomingHttpHeaders
  body: Uint8Array
  /** Rate-limit key of the client; undefined if rate limits do not apply. */
  client: string | undefined
  /** Identifies the client even if it is not rate limited; loopback is one client. */
  sourceAddress(): string
  /** True for requests of a trusted proxy itself, such as health checks. */
  isTrustedProxy(): boolean
  /** Whether the client uses https, here or at a trusted proxy. */
  secure(): boolean
  /** Whether it came from the Internet without TLS. */
  isExposed(): boolean
  /** Aborted when the client disconnects; not at shutdown. */
  signal(): AbortSignal
  /** For long polls and streams: aborted when the client disconnects, and at shutdown. */
  waitSignal(): AbortSignal
  throwIfClosed(): void
  /** Runs when the response closes, complete or not; at once if it is closed already. */
  onClose(release: () => void): void
  /** Adds headers to the response, whether success or problem. `make` runs once, when it is sent. */
  addHeaders(make: () => Record<string, string>): void
  /** Returned by `authenticate`. */
  key: ApiKey | undefined
  /**
   * Done for every response. A route calls it itself before it does the work for a large one, or if a refusal has to undo
   * something; the largest size counts.
   */
  reserveSendBudget(bytes: number): void
}
