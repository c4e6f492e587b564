import type { EmailGroup, MessageList, Session } from './api.ts'
import type { Filter } from './events.ts'
import { Mailbox } from './mailbox.ts'
import {
  type ApiRequest,
  type CallOptions,
  type Connection,
  MayflyError,
  readBody,
  request,
  requestJson,
  startDeadline,
} from './request.ts'

export type { Link, Message, MessageSummary as Summary } from './api.ts'
export type { Filter, MailEvent } from './events.ts'
export type {
  CodeAndLink,
  LinkOptions,
  ListOptions,
  Mailbox,
  WaitOptions,
} from './mailbox.ts'
export { type CallOptions, MayflyError, MayflyTimeoutError } from './request.ts'
export { verifyWebhook, type WebhookEvent, type WebhookRequest } from './webhook.ts'

// Options and fields have the names of the API.

/** A message as a key reads it, with the address it was sent to. */
export type Email = EmailGroup['emails'][number] & { address: string }

export interface MayflyOptions {
  /** For example `http://localhost:8080`. */
  url: string | URL
  /** For `emails()`, which also returns the mail of mailboxes created with it. */
  apiKey?: string | undefined
  fetch?: typeof fetch
}

export interface NewMailbox {
  prefix?: string
  domain_id?: number
  /** Seconds. */
  ttl?: number
  use_gmail?: boolean
  gmail_auto?: boolean
  gmail_id?: number
  /** Senders: addresses, or domains with their subdomains. */
  only_from?: readonly string[]
  max_messages?: number
}

export interface EmailsOptions extends Filter, CallOptions {
  to?: string
  since_id?: number
  limit?: number
  /** From the previous page. */
  cursor?: string
  /** Seconds to wait for mail, at most 55. */
  wait?: number
}

/** A Mayfly service. */
export class Mayfly {
  readonly #connection: Connection

  constructor({ url, apiKey, fetch: send = fetch }: MayflyOptions) {
    const base = new URL(url)
    if (!base.pathname.endsWith('/')) base.pathname += '/'
    // Browsers require that fetch is called as a function of its own.
    this.#connection = { url: base, apiKey, fetch: (...args) => send(...args) }
  }

  async createMailbox({
    timeout,
    signal,
    ...params
  }: NewMailbox & CallOptions = {}): Promise<Mailbox> {
    const { apiKey } = this.#connection
    const session = await requestJson<Session>(
      this.#connection,
      {
        method: 'POST',
        path: 'api/create-session',
        params: { ...params },
        headers: apiKey ? { apikey: apiKey } : {},
      },
      startDeadline({ timeout, signal }),
    )
    return new Mailbox(this.#connection, session)
  }

  /** A mailbox that was created before. */
  async openMailbox(token: string, options: CallOptions = {}): Promise<Mailbox> {
    const wanted: ApiRequest = { path: 'api/check-mail', params: { limit: 1 }, token }
    const found = await requestJson<MessageList>(this.#connection, wanted, startDeadline(options))
    return new Mailbox(this.#connection, { ...found, token })
  }

  /** One page of the mail that the key can read, newest first. The next page, if `cursor` is set, is another request of the plan. */
  async emails({ timeout, signal, ...params }: EmailsOptions = {}): Promise<{
    emails: Email[]
    cursor: string | undefined
  }> {
    const { apiKey } = this.#connection
    if (!apiKey) throw new MayflyError('emails() needs an apiKey', { code: 'invalid_key' })
    const { wait = 0 } = params
    const deadline = startDeadline({ timeout: timeout ?? 30_000 + wait * 1_000, signal })
    const wanted = { path: 'emails', params: { ...params }, headers: { apikey: apiKey } }
    const response = await request(this.#connection, wanted, deadline)
    const groups = await readBody(
      this.#connection,
      deadline,
      () => response.json() as Promise<EmailGroup[]>,
    )
    const [, next] = /<([^>]*)>; *rel="?next/.exec(response.headers.get('link') ?? '') ?? []
    return {
      emails: groups.flatMap(({ address = '', emails }) =>
        emails.map((email) => ({ ...email, address })),
      ),
      cursor: (next && new URL(next, this.#connection.url).searchParams.get('cursor')) || undefined,
    }
  }
}
