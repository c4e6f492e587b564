import { Resolver } from 'node:dns/promises'
import type { DNSResolver } from 'mailauth'
import {
  type DnsAnswer,
  type DnsAnswers,
  type DnsQuery,
  type DnsRecords,
  queryKey,
  RECORD_TYPES,
} from './job.ts'

export interface Dns {
  /** Never rejects: a failure is an answer too. Gives up when `ended`. */
  ask(question: DnsQuery, ended: AbortSignal): Promise<DnsAnswer>
  close(): void
}

interface DnsOptions {
  /** Addresses, with a port where it is not 53; none: those of the system. */
  servers: readonly string[]
  now(): Date
  maxEntries?: number
}

interface CacheEntry {
  answer: Promise<DnsAnswer>
  /** Milliseconds; undefined while it is under way. */
  until: number | undefined
}

// The times of the records are not told to us for every type. Few domains change their keys more often.
const CACHE_MS = 5 * 60_000
const CACHE_ERROR_MS = 30_000
/** Larger answers are not kept: with the count this bounds the memory. */
const MAX_CACHED_SIZE = 8 * 1024
const TIMED_OUT: DnsAnswer = { fault: 'ETIMEOUT' }

/** The DNS with a memory: whoever asks the same within a few minutes, or at once, costs one query. */
export function openDns({ servers, now, maxEntries = 2_000 }: DnsOptions): Dns {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  const cache = new Map<string, CacheEntry>()

  function lookUp(question: DnsQuery): Promise<DnsAnswer> {
    const key = queryKey(question)
    const known = cache.get(key)
    if (known && (known.until ?? Number.POSITIVE_INFINITY) > now().getTime()) return known.answer
    const fresh: CacheEntry = { answer: query(resolver, question), until: undefined }
    cache.delete(key)
    cache.set(key, fresh)
    for (const oldest of cache.keys()) {
      if (cache.size <= maxEntries) break
      cache.delete(oldest)
    }
    void fresh.answer.then((answer) => {
      const ms = cacheMs(answer)
      if (ms > 0) fresh.until = now().getTime() + ms
      else if (cache.get(key) === fresh) cache.delete(key)
    })
    return fresh.answer
  }

  return {
    async ask(question, ended) {
      if (isPrivateName(question.name)) return { fault: 'ENOTFOUND' }
      return await unlessAborted(lookUp(question), ended)
    },
    close: () => resolver.cancel(),
  }
}

async function query(resolver: Resolver, { name, type }: DnsQuery): Promise<DnsAnswer> {
  try {
    return { records: (await resolver.resolve(name, type)) as DnsRecords }
  } catch (error) {
    // Whatever is wrong, with the name or with the server, is for the check to judge.
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return { fault: typeof code === 'string' ? code : 'ESERVFAIL' }
  }
}

function cacheMs(answer: DnsAnswer): number {
  if ('records' in answer) {
    return JSON.stringify(answer.records).length > MAX_CACHED_SIZE ? 0 : CACHE_MS
  }
  return answer.fault === 'ENOTFOUND' || answer.fault === 'ENODATA' ? CACHE_MS : CACHE_ERROR_MS
}

function unlessAborted(answer: Promise<DnsAnswer>, ended: AbortSignal): Promise<DnsAnswer> {
  return new Promise((resolve) => {
    const giveUp = () => resolve(TIMED_OUT)
    void answer.then((found) => {
      ended.removeEventListener('abort', giveUp)
      resolve(found)
    })
    if (ended.aborted) setImmediate(giveUp)
    else ended.addEventListener('abort', giveUp, { once: true })
  })
}

/** Names that mean something only within a network, or never anything. */
const PRIVATE_TLDS = new Set([
  'alt',
  'corp',
  'home',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'onion',
  'private',
])

/**
 * Strangers choose the names that we ask for, and see what comes of it. Names of the operator's own network are not
 * asked for: the answers would tell which there are.
 */
function isPrivateName(name: string): boolean {
  const labels = name.toLowerCase().replace(/\.$/, '').split('.')
  const last = labels.at(-1) ?? ''
  return labels.length < 2 || PRIVATE_TLDS.has(last) || labels.slice(-2).join('.') === 'home.arpa'
}

/** Answers what is known; what is not is noted, and looks like a failure until somebody has asked. */
export function resolverFromAnswers(answers: DnsAnswers, maxQuestions = Number.POSITIVE_INFINITY) {
  const lookedUp = new Set<string>()
  const unknown = new Map<string, DnsQuery>()

  async function resolve(name: string, type: string) {
    const question = { name, type: RECORD_TYPES.find((one) => one === type) ?? 'TXT' }
    const key = queryKey(question)
    lookedUp.add(key)
    if (lookedUp.size > maxQuestions) throw dnsError('ENOTFOUND')
    const answer = answers.get(key)
    if (answer && 'records' in answer) return answer.records
    if (!answer) unknown.set(key, question)
    throw dnsError(answer?.fault ?? 'EUNKNOWN')
  }

  return {
    // Its type leaves out the records of MX.
    resolver: resolve as DNSResolver,
    questions: () => [...unknown.values()],
  }
}

function dnsError(code: string): Error {
  return Object.assign(new Error(code), { code })
}
