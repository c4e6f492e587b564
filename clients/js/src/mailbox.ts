/// <reference lib="esnext.disposable" preserve="true" />
import type {
  ApiResponses,
  Header,
  Link,
  Message,
  MessageList,
  MessageSummary,
  Session,
  SessionSettings,
} from './api.ts'
import { type EventOptions, type MailEvent, mailEvents, type ParsedFilter } from './events.ts'
import {
  type ApiRequest,
  type CallOptions,
  type Connection,
  type Deadline,
  MayflyError,
  MayflyTimeoutError,
  request,
  requestBytes,
  requestJson,
  startDeadline,
} from './request.ts'
import { type WaitingMailbox, type WaitOptions, waitForNext } from './wait.ts'

export interface ListOptions extends ParsedFilter, CallOptions {
  /** Text in the sender, the subject or the body. */
  q?: string
  since_id?: number
  limit?: number
}

/** What a mailbox accepts, and its name. */
export interface MailboxSettings {
  /** Senders: addresses, or domains with their subdomains. */
  only_from?: readonly string[]
  max_messages?: number
  /** At most 60 characters, for your own use. */
  label?: string
}

export interface MailboxChange extends MailboxSettings, CallOptions {
  /** What to remove. */
  clear?: readonly (keyof MailboxSettings)[]
}

export interface LinkOptions extends WaitOptions {
  /** Default: a link to verify, to sign in or to reset a password. */
  kind?: Link['kind'] | undefined
}

/** A message by its id, or as it was listed or read. */
export type MessageRef = number | { id: number }

export interface CodeAndLink {
  code: string
  link: string
}

const FINAL_CHECK_MS = 10_000

/** Links that a person is meant to follow. */
const LINK_KINDS: readonly Link['kind'][] = ['verify', 'sign_in', 'reset']

export class Mailbox {
  readonly email: string
  /** Anyone who has it can read the mailbox. */
  readonly token: string
  expiresAt: Date
  readonly #connection: Connection
  readonly #waiting: WaitingMailbox

  /** Use `createMailbox` or `openMailbox`. */
  constructor(
    connection: Connection,
    session: Pick<Session, 'email' | 'token' | 'expires_at_iso'>,
  ) {
    this.#connection = connection
    this.email = session.email
    this.token = session.token
    this.expiresAt = new Date(session.expires_at_iso)
    const list: WaitingMailbox['list'] = (params, deadline) => this.#list(params, deadline)
    this.#waiting = { email: this.email, returned: new Set(), list }
  }

  /**
   * The next message that matches, whether it is there already or still to come. Each message is returned once by
   * all waiting methods together, also if they run in parallel, the oldest first.
   */
  waitForMessage(options: WaitOptions = {}): Promise<Message> {
    return waitForNext(this.#waiting, 'message', options, ({ id }, deadline) =>
      this.#read(id, deadline),
    )
  }

  /** The code of the next message that has one. */
  waitForCode(options: WaitOptions = {}): Promise<string> {
    return waitForNext(
      this.#waiting,
      'message with a code',
      { ...options, has_code: true },
      async ({ code }) => code ?? undefined,
    )
  }

  /** The link of the next message that has one. */
  waitForLink({ kind, ...options }: LinkOptions = {}): Promise<string> {
    return waitForNext(
      this.#waiting,
      'message with a link',
      { ...options, ...linkFilter(kind) },
      async ({ id }, deadline) => linkOf(await this.#read(id, deadline), kind),
    )
  }

  /** Both of the next message that has a code and a link. */
  waitForCodeAndLink({ kind, ...options }: LinkOptions = {}): Promise<CodeAndLink> {
    return waitForNext(
      this.#waiting,
      'message with a code and a link',
      { ...options, ...linkFilter(kind), has_code: true },
      async ({ id, code }, deadline) => {
        const link = linkOf(await this.#read(id, deadline), kind)
        return code && link ? { code, link } : undefined
      },
    )
  }

  /** Waits for the whole timeout, by default 5,000 ms; throws `unexpected_message` if a message that matches is there or arrives. */
  async expectNoMessage({ timeout = 5_000, ...options }: WaitOptions = {}): Promise<void> {
    const find = (summary: MessageSummary) => Promise.resolve(summary)
    const found = await waitForNext(this.#waiting, 'message', { ...options, timeout }, find).catch(
      async (error: unknown) => {
        if (!(error instanceof MayflyTimeoutError)) throw error
        // A server that no longer responds proves nothing.
        const last = await this.messages({ ...options, timeout: FINAL_CHECK_MS })
        return last.find(({ id }) => !this.#waiting.returned.has(id))
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

  async read(message: MessageRef, options: CallOptions = {}): Promise<Message> {
    return await this.#read(idOf(message), startDeadline(options))
  }

  /** The content of an attachment, by its `index` in the message. */
  async attachment(
    message: MessageRef,
    index: number,
    options: CallOptions = {},
  ): Promise<Uint8Array> {
    return await this.#download('api/attachment', { id: idOf(message), index }, options)
  }

  /** The message as it was received. */
  async raw(message: MessageRef, options: CallOptions = {}): Promise<Uint8Array> {
    return await this.#download('api/raw-mail', { id: idOf(message) }, options)
  }

  /** The header lines, in their order. */
  async headers(message: MessageRef, options: CallOptions = {}): Promise<Header[]> {
    const { headers } = await this.#read(idOf(message), startDeadline(options), { headers: true })
    return headers ?? []
  }

  /** Deletes one message, or up to 500; returns how many there were. */
  async delete(
    messages: MessageRef | readonly MessageRef[],
    options: CallOptions = {},
  ): Promise<number> {
    const ids = [messages].flat().map(idOf)
    if (ids.length === 0) return 0
    // Of several, unknown ones are ignored.
    const params = Array.isArray(messages) ? { ids: ids.join(',') } : { id: ids[0] }
    const wanted = this.#post('delete-mail', params)
    type Response = ApiResponses['POST /api/delete-mail']
    const deadline = startDeadline(options)
    const { deleted } = await requestJson<Response>(this.#connection, wanted, deadline)
    return deleted
  }

  /**
   * What happens in the mailbox from now on, or after `since_id`, until it ends. A connection that is lost is resumed
   * without a gap.
   */
  events(options: EventOptions = {}): AsyncGenerator<MailEvent, void, void> {
    return mailEvents(this.#connection, [this.token], options)
  }

  /** Sets the expiry to `ttl` seconds from now; without it, to the default life. */
  async extend({ ttl, ...options }: { ttl?: number } & CallOptions = {}): Promise<void> {
    const wanted = this.#post('extend-session', { ttl })
    const session = await requestJson<Session>(this.#connection, wanted, startDeadline(options))
    this.expiresAt = new Date(session.expires_at_iso)
  }

  /** The rules, with how many mails they have refused, and the label. */
  async settings(options: CallOptions = {}): Promise<SessionSettings> {
    const wanted = { path: 'api/check-mail', params: { limit: 1 }, token: this.token }
    return await requestJson<MessageList>(this.#connection, wanted, startDeadline(options))
  }

  /** Changes what is given. */
  async update({ timeout, signal, ...params }: MailboxChange): Promise<SessionSettings> {
    const wanted = this.#post('update-session', { ...params })
    const deadline = startDeadline({ timeout, signal })
    return await requestJson<SessionSettings>(this.#connection, wanted, deadline)
  }

  /** Ends the mailbox at once and deletes its mail. */
  async end(options: CallOptions = {}): Promise<void> {
    await request(this.#connection, this.#post('delete-session', {}), startDeadline(options))
  }

  /** For `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end().catch((error: unknown) => {
      // It may have ended before.
      if (!(error instanceof MayflyError && error.status === 401)) throw error
    })
  }

  async #download(
    path: string,
    params: NonNullable<ApiRequest['params']>,
    options: CallOptions,
  ): Promise<Uint8Array> {
    const wanted = { path, params, token: this.token }
    return await requestBytes(this.#connection, wanted, startDeadline(options))
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

  async #read(id: number, deadline: Deadline, params: { headers?: true } = {}): Promise<Message> {
    const wanted = { path: 'api/read-mail', params: { id, ...params }, token: this.token }
    type Response = ApiResponses['GET /api/read-mail']
    return (await requestJson<Response>(this.#connection, wanted, deadline)).message
  }
}

function idOf(message: MessageRef): number {
  return typeof message === 'number' ? message : message.id
}

/** The server selects only links of the default kinds. */
function linkFilter(kind: Link['kind'] | undefined): ParsedFilter {
  return kind === undefined || LINK_KINDS.includes(kind) ? { has_link: true } : {}
}

function linkOf({ links }: Message, kind: Link['kind'] | undefined): string | undefined {
  const kinds = kind ? [kind] : LINK_KINDS
  return links.find((link) => kinds.includes(link.kind))?.url
}
