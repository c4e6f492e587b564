import type { Domains, EmailGroup, MessageList, Session, Usage } from './api.ts'
import type { Filter } from './events.ts'
import { Mailbox } from './mailbox.ts'
import {
  type ApiRequest,
  type CallOptions,
  type Connection,
  readBody,
  request,
  requestJson,
  startDeadline,
  withKey,
} from './request.ts'
import { Webhooks } from './webhooks.ts'

export type {
  Delivery,
  DeliveryOutcome,
  Domains,
  Header,
  Link,
  Message,
  MessageSummary as Summary,
  NewWebhook,
  Usage,
  Webhook,
} from './api.ts'
export type { Filter, MailEvent } from './events.ts'
export type {
  CodeAndLink,
  LinkOptions,
  ListOptions,
  Mailbox,
  MessageRef,
} from './mailbox.ts'
export { type CallOptions, MayflyError, MayflyTimeoutError } from './request.ts'
export type { WaitOptions } from './wait.ts'
export { verifyWebhook, type WebhookEvent, type WebhookRequest } from './webhook.ts'
export type { WebhookOptions, Webhooks } from './webhooks.ts'

// Options and fields have the names of the API.

/** A message as a key reads it, with the address it was sent to. */
export type Email = EmailGroup['emails'][number] & { address: string }

export interface MayflyOptions {
  /** For example `http://localhost:8080`. */
  url: string | URL
  /** For `emails()`, which also returns the mail of mailboxes created with it, `usage()` and `webhooks`. */
  apiKey?: string | undefined
  fetch?: typeof fetch
}

export interface NewMailbox {
  prefix?: string
  /** The name of a mail domain, instead of its id. */
  domain?: string
  domain_id?: number
  /** Seconds. */
  ttl?: number
  use_gmail?: boolean
  gmail_auto?: boolean
  gmail_id?: number
  /** Senders: addresses, or domains with their subdomains. */
  only_from?: readonly string[]
  max_messages?: number
  /** At most 60 characters, for your own use. */
  label?: string
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
  readonly webhooks: Webhooks
  readonly #connection: Connection

  constructor({ url, apiKey, fetch: send = fetch }: MayflyOptions) {
    const base = new URL(url)
    if (!base.pathname.endsWith('/')) base.pathname += '/'
    // Browsers require that fetch is called as a function of its own.
    this.#connection = { url: base, apiKey, fetch: (...args) => send(...args) }
    this.webhooks = new Webhooks(this.#connection)
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

  /** The mail domains and Gmail accounts that `createMailbox` may be given by `id`. */
  async domains(options: CallOptions = {}): Promise<Domains> {
    const wanted = { path: 'api/domains' }
    return await requestJson<Domains>(this.#connection, wanted, startDeadline(options))
  }

  /** The used and remaining requests of the key. Free. */
  async usage(options: CallOptions = {}): Promise<Usage> {
    const wanted = withKey(this.#connection, { path: 'usage' })
    return await requestJson<Usage>(this.#connection, wanted, startDeadline(options))
  }

  /** One page of the mail that the key can read, newest first. The next page, if `cursor` is set, is another request of the plan. */
  async emails({ timeout, signal, ...params }: EmailsOptions = {}): Promise<{
    emails: Email[]
    cursor: string | undefined
  }> {
    const { wait = 0 } = params
    const deadline = startDeadline({ timeout: timeout ?? 30_000 + wait * 1_000, signal })
    const wanted = withKey(this.#connection, { path: 'emails', params: { ...params } })
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
