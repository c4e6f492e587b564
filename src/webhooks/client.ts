import type { AttemptOutcome } from './rules.ts'

/** Requests to the receivers of webhooks. */
export interface WebhookClient {
  /**
   * The URL as it is stored. Throws `invalid_url`, `not_allowed` if it is not a target that we connect to, or `overloaded` if too
   * many names of this key are being resolved.
   */
  check(url: string, keyId: string): Promise<string>
  /** One attempt; never rejects, except with the reason of the signal. */
  send(request: WebhookRequest): Promise<AttemptOutcome & { retryAfter: string | undefined }>
}

export interface WebhookRequest {
  url: string
  keyId: string
  headers: Record<string, string>
  body: string
  signal?: AbortSignal
}
