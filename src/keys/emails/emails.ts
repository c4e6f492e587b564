import { type Address, parseAddress } from '../../base/address.ts'
import { secretHash } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'
import type { MailDeps } from '../../mail/deps.ts'
import { type PollSource, pollUntil, type SharedPolls } from '../../mail/list/shared-poll.ts'
import {
  groupSteps,
  type MailFilter,
  matchesFilter,
  type SearchText,
} from '../../mail/rules/filter.ts'
import type { Message } from '../../mail/rules/message.ts'
import { keyedTopic, POOL, type Topic } from '../../mail/rules/session.ts'
import type { KeyScope, MailStore } from '../../mail/store.ts'
import { type Caller, type KeyAuthDeps, requireQuota, rereadKey } from '../authenticate-key.ts'
import type { ApiKey } from '../rules.ts'

export interface EmailsDeps extends Pick<MailDeps, 'store' | 'parsed' | 'steps' | 'now'> {
  poolAccess: PoolAccess
}

/** What keys see of the pool: all of it, mail whose address they name, or nothing. */
export type PoolAccess = 'open' | 'by-address' | 'off'

export interface EmailQuery {
  keyId: string
  to: Address | undefined
  sinceId: number
  /** Only older messages: the last one of the previous page. */
  beforeId: number | undefined
  limit: number
  filter?: MailFilter | undefined
  search?: SearchText | undefined
}

/** The version of what the key may see of this query: unchanged while the response is. */
export async function emailsVersion(deps: EmailsDeps, query: EmailQuery): Promise<string> {
  return await deps.store.keyMailVersion(keyScope(deps, query))
}

/** Id of the newest message that the key may see; 0 if there is none. */
export async function newestEmailId(
  deps: Pick<EmailsDeps, 'poolAccess' | 'now'> & { store: Pick<MailStore, 'listKeyMailHeads'> },
  query: Pick<EmailQuery, 'keyId' | 'to'>,
): Promise<number> {
  const page = { sinceId: 0, beforeId: undefined, limit: 1 }
  const [newest] = await deps.store.listKeyMailHeads(keyScope(deps, query), page)
  return newest?.id ?? 0
}

export interface PageRequest {
  /** Rate-limit key of the client; undefined if rate limits do not apply. */
  client: string | undefined
  signal?: AbortSignal
}

export interface Selection {
  /** Newest first. */
  messages: Message[]
  /** `beforeId` of the next page; undefined if there is none. */
  nextAfter: number | undefined
}

export async function selectMessages(
  deps: EmailsDeps,
  query: EmailQuery,
  request: PageRequest,
): Promise<Selection> {
  const { sinceId, beforeId, limit, filter } = query
  if (filter) {
    const { ids, nextAfter } = await selectMatching(deps, query, filter, request)
    const messages = ids.length > 0 ? await deps.store.readKeyMail(keyScope(deps, query), ids) : []
    return { messages, nextAfter }
  }
  // One more than requested, to see whether there is a next page.
  const page = { sinceId, beforeId, limit: limit + 1 }
  const messages = await deps.store.listKeyMail(keyScope(deps, query), page)
  const wanted = messages.slice(0, limit)
  return { messages: wanted, nextAfter: messages.length > limit ? wanted.at(-1)?.id : undefined }
}

/** Messages examined for a filtered page. The next page continues after the last one. */
export const MAX_EXAMINED = 5_000
export const EXAMINED_AT_ONCE = 500

/** Examines messages from the newest until the page is full or the limit is reached. */
async function selectMatching(
  deps: EmailsDeps,
  query: EmailQuery,
  filter: MailFilter,
  request: PageRequest,
): Promise<Pick<Selection, 'nextAfter'> & { ids: number[] }> {
  const scope = keyScope(deps, query)
  const ids: number[] = []
  let { beforeId } = query
  for (let examined = 0; examined < MAX_EXAMINED; examined += EXAMINED_AT_ONCE) {
    const page = { sinceId: query.sinceId, beforeId, limit: EXAMINED_AT_ONCE }
    const some = await deps.store.listKeyMailHeads(scope, page)
    const groups = await deps.steps.run(
      { ...request, mailbox: `key ${query.keyId}` },
      groupSteps(some, (head) => matchesFilter(filter, head)),
    )
    request.signal?.throwIfAborted()
    for (const head of groups.get(true) ?? []) {
      if (ids.length === query.limit) return { ids, nextAfter: ids.at(-1) }
      ids.push(head.id)
    }
    if (some.length < EXAMINED_AT_ONCE) return { ids, nextAfter: undefined }
    beforeId = some.at(-1)?.id
    if (ids.length === query.limit) break
  }
  return { ids, nextAfter: beforeId }
}

/** Tests whether there is a matching message newer than `sinceId`. Each message is tested at most once. */
export function emailMatchTest(
  deps: EmailsDeps,
  query: EmailQuery,
  filter: MailFilter,
  request: PageRequest,
) {
  let testedUpTo = query.sinceId
  let nextAfter: number | undefined
  return {
    async isFound({ newestId }: Pick<KeyView, 'newestId'>): Promise<boolean> {
      const newest = await newestId()
      if (newest <= testedUpTo) return false
      const untested = { ...query, sinceId: testedUpTo, beforeId: newest + 1, limit: 1 }
      testedUpTo = newest
      request.signal?.throwIfAborted()
      const selection = await selectMatching(deps, untested, filter, request)
      nextAfter = selection.nextAfter ?? nextAfter
      return selection.ids.length > 0
    },
    /** `beforeId` of a page that begins with the messages that were too many to test. */
    nextAfter: () => nextAfter,
  }
}

/** What a key may see, of one address or of all. */
export function keyScope(
  deps: Pick<EmailsDeps, 'poolAccess' | 'now'>,
  { keyId, to }: Pick<EmailQuery, 'keyId' | 'to'>,
): KeyScope {
  return { keyId, pool: seesPool(deps.poolAccess, to), to, now: deps.now() }
}

function seesPool(pool: PoolAccess, to: Address | undefined): boolean {
  return pool === 'open' || (pool === 'by-address' && to !== undefined)
}

/** `ann@box.test` or `Ann <ann@box.test>`. */
export function parseTo(text: string): Address {
  const [, inside] = /^[^<>]*<([^<>]*)>\s*$/.exec(text) ?? []
  const address = parseAddress((inside ?? text).trim())
  if (!address) {
    throw new Problem('invalid_parameter', 'to: must be one email address; write + as %2B.')
  }
  return address
}

type EmailsWaitDeps = KeyAuthDeps & EmailsDeps & { keyPolls: SharedPolls<KeyView> }

/** What a key may see, as one poll found it. Shared by all requests with this key and address. */
export interface KeyView {
  key: ApiKey
  version: string
  /** 0 if there is none. */
  newestId(): Promise<number>
}

interface Wait {
  caller: Caller
  query: EmailQuery
  seconds: number
  /** True if this view ends the wait. */
  isDone(view: Pick<KeyView, 'version' | 'newestId'>): boolean | Promise<boolean>
  signal: AbortSignal
  /** Poll interval without a wake. */
  pollMs: number
}

/** Waits until `isDone` or the timeout. Throws if the key's quota ends meanwhile. */
export async function awaitEmails(
  deps: EmailsWaitDeps,
  { caller, query, seconds, isDone, signal, pollMs }: Wait,
): Promise<{ key: ApiKey; version: string; timedOut: boolean }> {
  const wanted: PollSource<KeyView> = {
    key: `${secretHash(caller.keyText ?? '')} ${query.to ?? ''}`,
    topics: keyTopics(deps, query),
    poll: (throwIfLeft) => keyView(deps, caller, query, throwIfLeft),
    intervalMs: pollMs,
    signal,
  }
  return await pollUntil(deps.keyPolls, { ...wanted, seconds }, async (view, over) => {
    const { key, version } = view
    requireQuota(deps, caller, key)
    const found = await isDone(view)
    // A client that has left is not charged.
    signal.throwIfAborted()
    return found || over ? { key, version, timedOut: !found } : undefined
  })
}

async function keyView(
  deps: EmailsWaitDeps,
  { keyText }: Caller,
  query: EmailQuery,
  throwIfLeft: () => void,
): Promise<KeyView> {
  const key = await rereadKey(deps, keyText)
  throwIfLeft()
  const version = await emailsVersion(deps, query)
  let newestId: Promise<number> | undefined
  return {
    key,
    version,
    newestId() {
      newestId ??= newestEmailId(deps, query)
      return newestId
    },
  }
}

/** The topics whose changes change what the key may see. */
export function keyTopics(
  { poolAccess }: Pick<EmailsDeps, 'poolAccess'>,
  { keyId, to }: Pick<EmailQuery, 'keyId' | 'to'>,
): Topic[] {
  const own = keyedTopic('key', keyId)
  if (!seesPool(poolAccess, to)) return [own]
  return [own, to === undefined ? POOL : keyedTopic('pool', to)]
}
