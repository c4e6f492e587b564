import type { ApiResponses, Delivery, DeliveryOutcome, NewWebhook, Webhook } from './api.ts'
import type { Filter } from './events.ts'
import {
  type ApiRequest,
  type CallOptions,
  type Connection,
  pathSegment,
  requestWithKey,
} from './request.ts'

export interface WebhookOptions extends Filter, CallOptions {
  url: string
  /** Only mail to this address. */
  to?: string
  /** Deliver messages newer than this id; by default those that arrive from now on. */
  since_id?: number
}

export interface WebhookChange extends Partial<Omit<WebhookOptions, 'since_id'>> {
  /** `paused` stops deliveries; `active` resumes them, and enables a disabled webhook. */
  state?: 'active' | 'paused'
  /** Conditions to remove. */
  clear?: readonly ('to' | 'from' | 'subject')[]
}

export type RolledSecret = ApiResponses['POST /webhooks/{id}/roll-secret']

/** The webhooks of the key. All calls are free. */
export class Webhooks {
  readonly #connection: Connection

  /** Use `webhooks` of a `Mayfly`. */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The `secret` in the result verifies signatures; it is not shown again. */
  async create({ timeout, signal, ...params }: WebhookOptions): Promise<NewWebhook> {
    const wanted = { path: 'webhooks', params: { ...params } }
    return (await this.#post<'POST /webhooks'>(wanted, { timeout, signal })).webhook
  }

  /** Oldest first. */
  async list(options?: CallOptions): Promise<Webhook[]> {
    return (await this.#get<'GET /webhooks'>('webhooks', options)).webhooks
  }

  async read(id: string, options?: CallOptions): Promise<Webhook> {
    return (await this.#get<'GET /webhooks/{id}'>(pathOf(id), options)).webhook
  }

  /** Changes what is given; the secret and the position stay. */
  async update(id: string, { timeout, signal, ...params }: WebhookChange): Promise<Webhook> {
    const wanted = { path: pathOf(id), params: { ...params } }
    return (await this.#post<'POST /webhooks/{id}'>(wanted, { timeout, signal })).webhook
  }

  /** The last 100 attempts, newest first. */
  async deliveries(id: string, options?: CallOptions): Promise<Delivery[]> {
    const path = pathOf(id, 'deliveries')
    return (await this.#get<'GET /webhooks/{id}/deliveries'>(path, options)).deliveries
  }

  /** Sends an event of type `webhook.test` now. */
  async test(id: string, options?: CallOptions): Promise<DeliveryOutcome> {
    const path = pathOf(id, 'test')
    return (await this.#post<'POST /webhooks/{id}/test'>({ path }, options)).delivery
  }

  /** Delivers messages newer than `since_id` again; each counts as a request of the plan. */
  async replay(
    id: string,
    { since_id, ...options }: { since_id: number } & CallOptions,
  ): Promise<Webhook> {
    const wanted = { path: pathOf(id, 'replay'), params: { since_id } }
    return (await this.#post<'POST /webhooks/{id}/replay'>(wanted, options)).webhook
  }

  /** For 24 hours, deliveries are signed with both secrets. */
  async rollSecret(id: string, options?: CallOptions): Promise<RolledSecret> {
    const path = pathOf(id, 'roll-secret')
    return await this.#post<'POST /webhooks/{id}/roll-secret'>({ path }, options)
  }

  /** Enables a disabled webhook, or retries a failing one now. */
  async enable(id: string, options?: CallOptions): Promise<Webhook> {
    const path = pathOf(id, 'enable')
    return (await this.#post<'POST /webhooks/{id}/enable'>({ path }, options)).webhook
  }

  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#post({ path: pathOf(id, 'delete') }, options)
  }

  async #get<Name extends keyof ApiResponses>(path: string, options?: CallOptions) {
    return await requestWithKey<Name>(this.#connection, { path }, options)
  }

  async #post<Name extends keyof ApiResponses>(given: ApiRequest, options?: CallOptions) {
    return await requestWithKey<Name>(this.#connection, { ...given, method: 'POST' }, options)
  }
}

function pathOf(id: string, action?: string): string {
  const path = `webhooks/${pathSegment(id)}`
  return action === undefined ? path : `${path}/${action}`
}
