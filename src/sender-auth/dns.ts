import { Resolver } from 'node:dns/promises'
import type { DNSResolver } from 'mailauth'
import {
  type Answers,
  type DnsAnswer,
  type DnsRecords,
  keyOf,
  type Question,
  RECORD_TYPES,
} from './job.ts'

export interface Dns {
  /** Never rejects: a failure is an answer too. Gives up when `ended`. */
  ask(question: Question, ended: AbortSignal): Promise<DnsAnswer>
  close(): void
}

interface DnsOptions {
  /** Addresses, with a port where it is not 53; none: those of the system. */
  servers: readonly string[]
  now(): Date
  maxKept?: number
}

interface Kept {
  answer: Promise<DnsAnswer>
  /** Milliseconds; undefined while it is under way. */
  until: number | undefined
}

// The times of the records are not told to us for every type. Few domains change their keys more often.
const KEEP_MS = 5 * 60_000
const KEEP_FAULT_MS = 30_000
/** Larger answers are not kept: with the count this bounds the memory. */
const MAX_KEPT_SIZE = 8 * 1024
const TIMED_OUT: DnsAnswer = { fault: 'ETIMEOUT' }

/** The DNS with a memory: whoever asks the same within a few minutes, or at once, costs one query. */
export function openDns({ servers, now, maxKept = 2_000 }: DnsOptions): Dns {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  const kept = new Map<string, Kept>()

  function find(question: Question): Promise<DnsAnswer> {
    const key = keyOf(question)
    const known = kept.get(key)
    if (known && (known.until ?? Number.POSITIVE_INFINITY) > now().getTime()) return known.answer
    const fresh: Kept = { answer: query(resolver, question), until: undefined }
    kept.delete(key)
    kept.set(key, fresh)
    for (const oldest of kept.keys()) {
      if (kept.size <= maxKept) break
      kept.delete(oldest)
    }
    void fresh.answer.then((answer) => {
      const ms = keepMs(answer)
      if (ms > 0) fresh.until = now().getTime() + ms
      else if (kept.get(key) === fresh) kept.delete(key)
    })
    return fresh.answer
  }

  return {
    async ask(question, ended) {
      if (isInnerName(question.name)) return { fault: 'ENOTFOUND' }
      return await unlessEnded(find(question), ended)
    },
    close: () => resolver.cancel(),
  }
}

async function query(resolver: Resolver, { name, type }: Question): Promise<DnsAnswer> {
  try {
    return { records: (await resolver.resolve(name, type)) as DnsRecords }
  } catch (error) {
    // Whatever is wrong, with the name or with the server, is for the check to judge.
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return { fault: typeof code === 'string' ? code : 'ESERVFAIL' }
  }
}

function keepMs(answer: DnsAnswer): number {
  if ('records' in answer) {
    return JSON.stringify(answer.records).length > MAX_KEPT_SIZE ? 0 : KEEP_MS
  }
  return answer.fault === 'ENOTFOUND' || answer.fault === 'ENODATA' ? KEEP_MS : KEEP_FAULT_MS
}

function unlessEnded(answer: Promise<DnsAnswer>, ended: AbortSignal): Promise<DnsAnswer> {
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
const INNER = new Set([
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
function isInnerName(name: string): boolean {
  const labels = name.toLowerCase().replace(/\.$/, '').split('.')
  const last = labels.at(-1) ?? ''
  return labels.length < 2 || INNER.has(last) || labels.slice(-2).join('.') === 'home.arpa'
}

/** Answers what is known; what is not is noted, and looks like a failure until somebody has asked. */
export function knownAnswers(answers: Answers, maxQuestions = Number.POSITIVE_INFINITY) {
  const asked = new Set<string>()
  const unknown = new Map<string, Question>()

  async function resolve(name: string, type: string) {
    const question = { name, type: RECORD_TYPES.find((one) => one === type) ?? 'TXT' }
    const key = keyOf(question)
    asked.add(key)
    if (asked.size > maxQuestions) throw fault('ENOTFOUND')
    const answer = answers.get(key)
    if (answer && 'records' in answer) return answer.records
    if (!answer) unknown.set(key, question)
    throw fault(answer?.fault ?? 'EUNKNOWN')
  }

  return {
    // Its type leaves out the records of MX.
    resolver: resolve as DNSResolver,
    questions: () => [...unknown.values()],
  }
}

function fault(code: string): Error {
  return Object.assign(new Error(code), { code })
}
