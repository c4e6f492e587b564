import type { ApiResponses, OwnDomain } from './api.ts'
import {
  type ApiRequest,
  type CallOptions,
  type Connection,
  pathSegment,
  requestWithKey,
} from './request.ts'

export interface OwnDomainChange extends CallOptions {
  /** Whether mail to addresses without a mailbox is accepted. */
  catch_all: boolean
}

/** The domains that the holder of the key has brought. All calls are free. */
export class OwnDomains {
  readonly #connection: Connection

  /** Use `ownDomains` of a `Mayfly`. */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Create the DNS records in the result, then call `verify`. */
  async add(domain: string, options?: CallOptions): Promise<OwnDomain> {
    const wanted = { path: 'domains', params: { domain } }
    const { status: _, ...added } = await this.#post<'POST /domains'>(wanted, options)
    return added
  }

  /** Oldest first. */
  async list(options?: CallOptions): Promise<OwnDomain[]> {
    return (await this.#get<'GET /domains'>('domains', options)).domains
  }

  async read(id: string, options?: CallOptions): Promise<OwnDomain> {
    return (await this.#get<'GET /domains/{id}'>(pathOf(id), options)).domain
  }

  /** Looks for the TXT record now; throws `record_missing` if there is none. */
  async verify(id: string, options?: CallOptions): Promise<OwnDomain> {
    const path = `${pathOf(id)}/verify`
    return (await this.#post<'POST /domains/{id}/verify'>({ path }, options)).domain
  }

  async update(id: string, { timeout, signal, ...params }: OwnDomainChange): Promise<OwnDomain> {
    const wanted = { path: pathOf(id), params: { ...params } }
    return (await this.#post<'POST /domains/{id}'>(wanted, { timeout, signal })).domain
  }

  /** With all its mailboxes and mail. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#post({ path: `${pathOf(id)}/delete` }, options)
  }

  async #get<Name extends keyof ApiResponses>(path: string, options?: CallOptions) {
    return await requestWithKey<Name>(this.#connection, { path }, options)
  }

  async #post<Name extends keyof ApiResponses>(given: ApiRequest, options?: CallOptions) {
    return await requestWithKey<Name>(this.#connection, { ...given, method: 'POST' }, options)
  }
}

function pathOf(id: string): string {
  return `domains/${pathSegment(id)}`
}
