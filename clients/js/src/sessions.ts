import type { KeySession } from './api.ts'
import { Mailbox } from './mailbox.ts'
import { type CallOptions, type Connection, requestWithKey } from './request.ts'

export interface SessionPage {
  sessions: KeySession[]
  /** For the next page; undefined at the end. */
  cursor: string | undefined
}

export interface SessionListOptions extends CallOptions {
  limit?: number
  /** Only those that do not expire, at domains of the key. */
  permanent?: boolean
  /** From the previous page. */
  cursor?: string
}

/** The mailboxes that were created with the key. All calls are free. */
export class Sessions {
  readonly #connection: Connection

  /** Use `sessions` of a `Mayfly`. */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** One page, newest first. */
  async list({ timeout, signal, ...params }: SessionListOptions = {}): Promise<SessionPage> {
    const { sessions, next_cursor: cursor } = await requestWithKey<'GET /sessions'>(
      this.#connection,
      { path: 'sessions', params: { ...params } },
      { timeout, signal },
    )
    return { sessions, cursor: cursor ?? undefined }
  }

  /** Ends a mailbox at once and deletes its mail. */
  async end(email: string, options?: CallOptions): Promise<void> {
    await this.#post<'POST /sessions/end'>('end', email, options)
  }

  /** The mailbox with a new token; the former one becomes invalid. */
  async rollToken(email: string, options?: CallOptions): Promise<Mailbox> {
    const session = await this.#post<'POST /sessions/roll-token'>('roll-token', email, options)
    return new Mailbox(this.#connection, session)
  }

  #post<Name extends 'POST /sessions/end' | 'POST /sessions/roll-token'>(
    action: string,
    email: string,
    options: CallOptions | undefined,
  ) {
    const wanted = { method: 'POST', path: `sessions/${action}`, params: { email } } as const
    return requestWithKey<Name>(this.#connection, wanted, options)
  }
}
