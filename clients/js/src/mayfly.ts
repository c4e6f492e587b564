import type {
  Domains,
  EmailGroup,
  Email as EmailRecord,
  MessageList,
  Session,
  Usage,
  WholeEmail,
} from './api.ts'
import { type EventOptions, type Filter, type MailboxEvent, mailEvents } from './events.ts'
import { Mailbox, type MailboxSettings } from './mailbox.ts'
import { OwnDomains } from './own-domains.ts'
import {
  type ApiRequest,
  type CallOptions,
  type Connection,
  pathSegment,
  readBody,
  request,
  requestBytes,
  requestJson,
  requestWithKey,
  startDeadline,
  withKey,
} from './request.ts'
import { Sessions } from './sessions.ts'
import { Webhooks } from './webhooks.ts'

export type {
  AddressRules,
  Attachment,
  Code,
  Delivery,
  DeliveryOutcome,
  Domain,
  Domains,
  EmailAttachment,
  GmailAccount,
  Header,
  KeySession,
  Link,
  Message,
  MessageSummary as Summary,
  NamedAddress,
  NewWebhook,
  OwnDomain,
  SenderChecks,
  SessionSettings,
  Usage,
  Webhook,
  WholeEmail,
} from './api.ts'
export type { EventOptions, Filter, MailboxEvent, MailEvent, ParsedFilter } from './events.ts'
export type {
  CodeAndLink,
  LinkOptions,
  ListOptions,
  Mailbox,
  MailboxChange,
  MailboxSettings,
  MessageRef,
} from './mailbox.ts'
export type { OwnDomainChange, OwnDomains } from './own-domains.ts'
export { type CallOptions, MayflyError, MayflyTimeoutError } from './request.ts'
export type { SessionListOptions, SessionPage, Sessions } from './sessions.ts'
export type { WaitOptions } from './wait.ts'
export { verifyWebhook, type WebhookEvent, type WebhookRequest } from './webhook.ts'
export type { RolledSecret, WebhookChange, WebhookOptions, Webhooks } from './webhooks.ts'

// Options and fields have the names of the API.

/** A message as a key reads it, with the address it was sent to. */
export type Email = EmailRecord & { address: string }

/** An email by its id, or as `emails()`, `readEmail()` or a webhook has returned it. */
export type EmailRef = number | { id: number; address: string }

export interface EmailPage {
  emails: Email[]
  /** For the next page, which is another request of the plan; undefined at the end. */
  cursor: string | undefined
  /** With `q`: there was no time to search all messages. */
  incomplete: boolean
}

export interface EmailOptions extends CallOptions {
  /** The address it was sent to, if the operator requires it; known if the email is not given by its id. */
  to?: string
}

export interface MayflyOptions {
  /** For example `http://localhost:8080`. */
  url: string | URL
  /** For `emails()`, which also returns the mail of mailboxes created with it, `usage()`, `sessions`, `ownDomains` and `webhooks`. */
  apiKey?: string | undefined
  fetch?: typeof fetch
}

export interface NewMailbox extends MailboxSettings {
  prefix?: string
  /** The name of a mail domain, instead of its id. */
  domain?: string
  domain_id?: number
  /** Of a wildcard domain: a label, or `random`, which is the default there. */
  subdomain?: string
  /** Seconds. */
  ttl?: number
  use_gmail?: boolean
  gmail_auto?: boolean
  gmail_id?: number
}

export interface EmailsOptions extends Filter, CallOptions {
  to?: string
  /** Text in the sender, the subject or the body. */
  q?: string
  since_id?: number
  limit?: number
  /** From the previous page. */
  cursor?: string
  /** Seconds to wait for mail, at most 55. */
  wait?: number
}

/** A Mayfly service. */
export class Mayfly {
  readonly sessions: Sessions
  readonly ownDomains: OwnDomains
  readonly webhooks: Webhooks
  readonly #connection: Connection

  constructor({ url, apiKey, fetch: send = fetch }: MayflyOptions) {
    const base = new URL(url)
    if (!base.pathname.endsWith('/')) base.pathname += '/'
    // Browsers require that fetch is called as a function of its own.
    this.#connection = { url: base, apiKey, fetch: (...args) => send(...args) }
    this.sessions = new Sessions(this.#connection)
    this.ownDomains = new OwnDomains(this.#connection)
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

  /** What happens in up to 20 mailboxes, in one stream that ends with the last of them; see `events` of a mailbox. */
  async *events(
    mailboxes: readonly Mailbox[],
    options: EventOptions = {},
  ): AsyncGenerator<MailboxEvent, void, void> {
    const tokens = mailboxes.map(({ token }) => token)
    for await (const { index = 0, email, ...event } of mailEvents(
      this.#connection,
      tokens,
      options,
    ))
      yield { ...event, email: email ?? mailboxes[index]?.email ?? '' }
  }

  /** The mail domains and Gmail accounts that `createMailbox` may be given by `id`. */
  async domains(options: CallOptions = {}): Promise<Domains> {
    const wanted = { path: 'api/domains' }
    return await requestJson<Domains>(this.#connection, wanted, startDeadline(options))
  }

  /** The used and remaining requests of the key. Free. */
  async usage(options: CallOptions = {}): Promise<Usage> {
    return await requestWithKey<'GET /usage'>(this.#connection, { path: 'usage' }, options)
  }

  /** One page of the mail that the key can read, newest first. */
  async emails({ timeout, signal, ...params }: EmailsOptions = {}): Promise<EmailPage> {
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
      incomplete: response.headers.has('x-incomplete'),
    }
  }

  /** One email in full. Like the downloads below, it is a request of the plan. */
  async readEmail(email: EmailRef, options: EmailOptions = {}): Promise<WholeEmail> {
    const wanted = emailRequest(email, options)
    return (await requestWithKey<'GET /emails/{id}'>(this.#connection, wanted, options)).email
  }

  /** The email as it was received. */
  async rawEmail(email: EmailRef, options: EmailOptions = {}): Promise<Uint8Array> {
    return await this.#download(emailRequest(email, options, '/raw'), options)
  }

  /** The content of an attachment, by its `index` in the email. */
  async emailAttachment(
    email: EmailRef,
    index: number,
    options: EmailOptions = {},
  ): Promise<Uint8Array> {
    return await this.#download(
      emailRequest(email, options, `/attachments/${pathSegment(index)}`),
      options,
    )
  }

  async #download(wanted: ApiRequest, options: CallOptions): Promise<Uint8Array> {
    const keyed = withKey(this.#connection, wanted)
    return await requestBytes(this.#connection, keyed, startDeadline(options))
  }
}

function emailRequest(email: EmailRef, { to }: EmailOptions, part = ''): ApiRequest {
  const { id, address = undefined } = typeof email === 'number' ? { id: email } : email
  return { path: `emails/${pathSegment(id)}${part}`, params: { to: to ?? address } }
}
