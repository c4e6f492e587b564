import { Resolver } from 'node:dns/promises'
import type { DNSResolver } from 'mailauth'
import { unlessAborted } from '../base/jobs/repeat.ts'
import { openLru } from '../base/lru.ts'
import {
  type DnsAnswer,
  type DnsAnswers,
  type DnsQuery,
  type DnsRecords,
  queryKey,
  RECORD_TYPES,
} from './job.ts'

export interface Dns {
  /** Never rejects: an error is an answer, too. An abort is answered with ETIMEOUT. */
  resolve(query: DnsQuery, signal: AbortSignal): Promise<DnsAnswer>
  close(): void
}

interface DnsOptions {
  /** Addresses, with a port unless it is 53; if empty, those of the system. */
  servers: readonly string[]
  now(): Date
  maxEntries?: number
}

interface CacheEntry {
  answer: Promise<DnsAnswer>
  /** Milliseconds; undefined while the query is pending. */
  expiresAt: number | undefined
}

// node:dns does not report the TTL of every record type. Few domains change their keys more often.
const CACHE_MS = 5 * 60_000
const CACHE_ERROR_MS = 30_000
/** Larger answers are not cached, so that the number of entries bounds the memory. */
const MAX_CACHED_SIZE = 8 * 1024

/** A caching resolver; concurrent queries for the same record share one request. */
export function openDns({ servers, now, maxEntries = 2_000 }: DnsOptions): Dns {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  const cache = openLru<string, CacheEntry>(maxEntries)

  function lookUp(query: DnsQuery): Promise<DnsAnswer> {
    const key = queryKey(query)
    const known = cache.get(key)
    if (known && (known.expiresAt ?? Number.POSITIVE_INFINITY) > now().getTime()) {
      return known.answer
    }
    const entry: CacheEntry = { answer: request(resolver, query), expiresAt: undefined }
    cache.set(key, entry)
    void entry.answer.then((answer) => {
      const ms = cacheMs(answer)
      if (ms > 0) entry.expiresAt = now().getTime() + ms
      else if (cache.get(key) === entry) cache.delete(key)
    })
    return entry.answer
  }

  return {
    async resolve(query, signal) {
      if (isPrivateName(query.name)) return { error: 'ENOTFOUND' }
      return await unlessAborted(signal, lookUp(query)).catch(() => ({ error: 'ETIMEOUT' }))
    },
    close: () => resolver.cancel(),
  }
}

async function request(resolver: Resolver, { name, type }: DnsQuery): Promise<DnsAnswer> {
  try {
    return { records: (await resolver.resolve(name, type)) as DnsRecords }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return { error: typeof code === 'string' ? code : 'ESERVFAIL' }
  }
}

function cacheMs(answer: DnsAnswer): number {
  if ('records' in answer) {
    return JSON.stringify(answer.records).length > MAX_CACHED_SIZE ? 0 : CACHE_MS
  }
  return answer.error === 'ENOTFOUND' || answer.error === 'ENODATA' ? CACHE_MS : CACHE_ERROR_MS
}

/** Not in the public DNS. */
const PRIVATE_TLDS = new Set(
  'alt corp home internal intranet invalid lan local localdomain localhost onion private'.split(
    ' ',
  ),
)

/**
 * Senders choose the names that we resolve, and see the effect. Names of the operator's network are not resolved: the
 * result would disclose which of them exist.
 */
function isPrivateName(name: string): boolean {
  const labels = name.toLowerCase().replace(/\.$/, '').split('.')
  const last = labels.at(-1) ?? ''
  return labels.length < 2 || PRIVATE_TLDS.has(last) || labels.slice(-2).join('.') === 'home.arpa'
}

/** Resolves from the answers given. Other queries fail, and are listed by `missing`. */
export function resolverFromAnswers(answers: DnsAnswers, maxQueries = Number.POSITIVE_INFINITY) {
  const seen = new Set<string>()
  const missing = new Map<string, DnsQuery>()

  async function resolve(name: string, type: string) {
    const query = { name, type: RECORD_TYPES.find((one) => one === type) ?? 'TXT' }
    const key = queryKey(query)
    seen.add(key)
    if (seen.size > maxQueries) throw dnsError('ENOTFOUND')
    const answer = answers.get(key)
    if (answer && 'records' in answer) return answer.records
    if (!answer) missing.set(key, query)
    throw dnsError(answer?.error ?? 'EUNKNOWN')
  }

  return {
    // The type of mailauth lacks MX records.
    resolver: resolve as DNSResolver,
    missing: () => [...missing.values()],
  }
}

function dnsError(code: string): Error {
  return Object.assign(new Error(code), { code })
}
