import type { ApiResponses, Link, Message, MessageList, MessageSummary, Session } from './api.ts'
import { type Filter, type MailEvent, mailEvents } from './events.ts'
import {
  type ApiRequest,
  type CallOptions,
  type Connection,
  type Deadline,
  MayflyError,
  MayflyTimeoutError,
  readBody,
  request,
  requestJson,
  startDeadline,
} from './request.ts'

export interface ListOptions extends Filter, CallOptions {
  has_code?: boolean
  /** Text in the sender, the subject or the body. */
  q?: string
  since_id?: number
  limit?: number
}

export interface WaitOptions extends Filter, CallOptions {}

export interface LinkOptions extends WaitOptions {
  /** Default: a link to verify, to sign in or to reset a password. */
  kind?: Link['kind'] | undefined
}

export interface CodeAndLink {
  code: string
  link: string
}

// The longest wait of one long poll; the server allows 55 s.
const MAX_WAIT_SECONDS = 50
// After that, also older messages that were parsed meanwhile are found.
const MAX_CODE_WAIT_SECONDS = 5
const LIST_LIMIT = 500
const FINAL_CHECK_MS = 10_000

/** Links that a person is meant to follow. */
const LINK_KINDS: readonly Link['kind'][] = ['verify', 'sign_in', 'reset']

interface NextOptions extends WaitOptions {
  has_code?: true
}

type PickFrom<T> = (summary: MessageSummary, deadline: Deadline) => Promise<T | undefined>

export class Mailbox {
  readonly email: string
  /** Anyone who has it can read the mailbox. */
  readonly token: string
  expiresAt: Date
  readonly #connection: Connection
  /** Messages that a waiting method has returned. */
  readonly #returned = new Set<number>()

  /** Use `createMailbox` or `openMailbox`. */
  constructor(
    connection: Connection,
    session: Pick<Session, 'email' | 'token' | 'expires_at_iso'>,
  ) {
    this.#connection = connection
    this.email = session.email
    this.token = session.token
    this.expiresAt = new Date(session.expires_at_iso)
  }

  /**
   * The next message that matches, whether it is there already or still to come. Each message is returned once by
   * all waiting methods together, also if they run in parallel, the oldest first.
   */
  waitForMessage(options: WaitOptions = {}): Promise<Message> {
    return this.#next('message', options, ({ id }, deadline) => this.#read(id, deadline))
  }

  /** The code of the next message that has one. */
  waitForCode(options: WaitOptions = {}): Promise<string> {
    return this.#next(
      'message with a code',
      { ...options, has_code: true },
      async ({ code }) => code ?? undefined,
    )
  }

  /** The link of the next message that has one. */
  waitForLink({ kind, ...options }: LinkOptions = {}): Promise<string> {
    return this.#next('message with a link', options, async ({ id }, deadline) =>
      linkOf(await this.#read(id, deadline), kind),
    )
  }

  /** Both of the next message that has a code and a link. */
  waitForCodeAndLink({ kind, ...options }: LinkOptions = {}): Promise<CodeAndLink> {
    return this.#next(
      'message with a code and a link',
      { ...options, has_code: true },
      async ({ id, code }, deadline) => {
        const link = linkOf(await this.#read(id, deadline), kind)
        return code && link ? { code, link } : undefined
      },
    )
  }

  /** Waits for the whole timeout, by default 5,000 ms; throws `unexpected_message` if a message that matches is there or arrives. */
  async expectNoMessage({ timeout = 5_000, ...options }: WaitOptions = {}): Promise<void> {
    const find = (summary: MessageSummary) => Promise.resolve(summary)
    const found = await this.#next('message', { ...options, timeout }, find).catch(
      async (error: unknown) => {
        if (!(error instanceof MayflyTimeoutError)) throw error
        // A server that no longer responds proves nothing.
        const last = await this.messages({ ...options, timeout: FINAL_CHECK_MS })
        return last.find(({ id }) => !this.#returned.has(id))
      },
    )
    if (!found) return
    const { subject, sender_email: sender } = found
    throw new MayflyError(`Unexpected message at ${this.email}: “${subject}” from ${sender}`, {
      code: 'unexpected_message',
    })
  }

  /** The messages, newest first. */
  async messages({ timeout, signal, ...params }: ListOptions = {}): Promise<MessageSummary[]> {
    return await this.#list({ ...params }, startDeadline({ timeout, signal }))
  }

  async read(message: number | { id: number }, options: CallOptions = {}): Promise<Message> {
    return await this.#read(idOf(message), startDeadline(options))
  }

  /** The content of an attachment, by its `index` in the message. */
  async attachment(
    message: number | { id: number },
    index: number,
    options: CallOptions = {},
  ): Promise<Uint8Array> {
    const deadline = startDeadline(options)
    const params = { id: idOf(message), index }
    const wanted = { path: 'api/attachment', params, token: this.token }
    const response = await request(this.#connection, wanted, deadline)
    const bytes = await readBody(this.#connection, deadline, () => response.arrayBuffer())
    return new Uint8Array(bytes)
  }

  /**
   * What happens in the mailbox from now on, or after `since_id`, until it ends. A connection that is lost is resumed
   * without a gap.
   */
  events(
    options: Filter & { has_code?: boolean; since_id?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<MailEvent, void, void> {
    return mailEvents(this.#connection, this.token, options)
  }

  /** Sets the expiry to `ttl` seconds from now; without it, to the default life. */
  async extend({ ttl, ...options }: { ttl?: number } & CallOptions = {}): Promise<void> {
    const wanted = this.#post('extend-session', { ttl })
    const session = await requestJson<Session>(this.#connection, wanted, startDeadline(options))
    this.expiresAt = new Date(session.expires_at_iso)
  }

  /** Ends the mailbox at once and deletes its mail. */
  async end(options: CallOptions = {}): Promise<void> {
    await request(this.#connection, this.#post('delete-session', {}), startDeadline(options))
  }

  #post(name: string, params: NonNullable<ApiRequest['params']>): ApiRequest {
    return { method: 'POST', path: `api/${name}`, params, token: this.token }
  }

  async #list(
    params: NonNullable<ApiRequest['params']>,
    deadline: Deadline,
  ): Promise<MessageSummary[]> {
    const wanted = { path: 'api/check-mail', params, token: this.token }
    return (await requestJson<MessageList>(this.#connection, wanted, deadline)).messages
  }

  async #read(id: number, deadline: Deadline): Promise<Message> {
    const wanted = { path: 'api/read-mail', params: { id }, token: this.token }
    type Response = ApiResponses['GET /api/read-mail']
    return (await requestJson<Response>(this.#connection, wanted, deadline)).message
  }

  /** What `pick` makes of the oldest message for which it makes something. */
  async #next<T>(
    what: string,
    { timeout, signal, ...filter }: NextOptions,
    pick: PickFrom<T>,
  ): Promise<T> {
    const deadline = startDeadline({ timeout, signal })
    const seen = new Set(this.#returned)
    try {
      for (;;) {
        const wait = seen.size === 0 ? waitSeconds(deadline) : 0
        const found = await this.#list({ ...filter, limit: LIST_LIMIT, wait }, deadline)
        const picked = await this.#pickOldest(found, seen, (summary) => pick(summary, deadline))
        if (picked !== undefined) return picked
        if (seen.size > 0) await this.#waitAfter(found[0]?.id ?? 0, filter, deadline)
      }
    } catch (cause) {
      if (!(cause instanceof MayflyTimeoutError)) throw cause
      const where = `at ${this.email} within ${deadline.timeout} ms; ${await this.#contents()}`
      throw new MayflyTimeoutError(`No ${what}${describe(filter)} ${where}`, { cause })
    }
  }

  async #pickOldest<T>(
    found: readonly MessageSummary[],
    seen: Set<number>,
    pick: (summary: MessageSummary) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    for (const summary of found.filter(({ id }) => !seen.has(id)).reverse()) {
      seen.add(summary.id)
      if (this.#returned.has(summary.id)) continue
      const picked = await pick(summary)
      // Another wait may have returned it meanwhile.
      if (picked === undefined || this.#returned.has(summary.id)) continue
      this.#returned.add(summary.id)
      return picked
    }
    return undefined
  }

  /** The result is ignored and all are listed again, because the oldest may be the last to be parsed. */
  async #waitAfter(
    sinceId: number,
    filter: Omit<NextOptions, keyof CallOptions>,
    deadline: Deadline,
  ): Promise<void> {
    const seconds = waitSeconds(deadline)
    const wait = filter.has_code ? Math.min(MAX_CODE_WAIT_SECONDS, seconds) : seconds
    await this.#list({ ...filter, wait, since_id: sinceId }, deadline)
  }

  /** For the message of an error. */
  async #contents(): Promise<string> {
    try {
      const messages = await this.messages({ limit: 10, timeout: FINAL_CHECK_MS })
      const lines = messages.map(
        ({ id, subject, sender_email: sender }) =>
          `“${subject}” from ${sender}${this.#returned.has(id) ? ' (already returned)' : ''}`,
      )
      return lines.length === 0 ? 'the mailbox is empty' : `the mailbox has ${lines.join(', ')}`
    } catch (error) {
      return `the mailbox cannot be read: ${(error as Error).message}`
    }
  }
}

function waitSeconds(deadline: Deadline): number {
  return Math.min(MAX_WAIT_SECONDS, Math.max(1, Math.ceil(deadline.remainingMs() / 1_000)))
}

function idOf(message: number | { id: number }): number {
  return typeof message === 'number' ? message : message.id
}

function linkOf({ links }: Message, kind: Link['kind'] | undefined): string | undefined {
  const kinds = kind ? [kind] : LINK_KINDS
  return links.find((link) => kinds.includes(link.kind))?.url
}

function describe({ from, subject }: Filter): string {
  return [from && ` from ${from}`, subject && ` with “${subject}” in the subject`]
    .filter(Boolean)
    .join('')
}
