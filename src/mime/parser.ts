import type { Log } from '../core/log.ts'
import type { Mail } from '../core/message.ts'
import { Problem } from '../core/problem.ts'
import type { Attachment, Job } from './job.ts'
import { type JobLimits, type Outcome, type ParseChild, startChild } from './parse-child.ts'
import { unreadable } from './unreadable.ts'

/** Reads mails in child processes: whatever a mail does to its reader, it does not do it to the service. */
export interface Parser {
  /** A mail that cannot be read comes back with a text that says so. */
  parse(raw: Uint8Array): Promise<Mail>
  /** Of a mail that cannot be read there is none: asking again would not help. */
  attachment(raw: Uint8Array, index: number): Promise<Attachment | undefined>
  close(): Promise<void>
}

export interface ParserOptions {
  /** Hears of each mail that could not be read, and why; nothing that stands in it. */
  log: Pick<Log, 'warn' | 'error'>
  children?: number
  limits?: Partial<JobLimits>
  maxWaiting?: number
  maxWaitingBytes?: number
  /** What the children run. */
  script?: URL
}

interface Waiting {
  job: Job
  resolve(outcome: Outcome): void
  reject(fault: unknown): void
}

const LIMITS: JobLimits = { startMs: 30_000, cpuMs: 1_000, wallMs: 30_000, memoryMb: 512 }

/** Children are started when there is work for them, at most two, and stay. */
export function openParser({
  log,
  children = 2,
  limits = {},
  maxWaiting = 100,
  maxWaitingBytes = 128 * 1024 * 1024,
  script = new URL('./child.ts', import.meta.url),
}: ParserOptions): Parser {
  const jobLimits = { ...LIMITS, ...limits }
  const busy = new Set<ParseChild>()
  let idle: ParseChild[] = []
  const waiting: Waiting[] = []
  let waitingBytes = 0
  let closed = false

  async function ask(job: Job): Promise<Outcome> {
    if (closed) throw stopping()
    if (waiting.length >= maxWaiting || waitingBytes + job.raw.length > maxWaitingBytes) {
      throw new Problem('overloaded', 'Too many mails are waiting to be read.', 1)
    }
    const outcome = await new Promise<Outcome>((resolve, reject) => {
      waiting.push({ job, resolve, reject })
      waitingBytes += job.raw.length
      next()
    }).catch((fault) => {
      throw closed ? stopping() : fault
    })
    if (closed && outcome.kind === 'lost') throw stopping()
    return outcome
  }

  async function read(job: Job): Promise<Outcome> {
    let outcome = await ask(job)
    if (outcome.kind === 'lost' && outcome.why === 'died') {
      // Something else may have ended the child; what we say of a mail is kept.
      log.warn({ bytes: job.raw.length }, 'a parse child died; its mail is read once more')
      outcome = await ask(job)
    }
    if (outcome.kind !== WANTED[job.kind]) tell(log, job, outcome)
    return outcome
  }

  function next(): void {
    idle = idle.filter((child) => child.alive())
    const child = idle.pop() ?? (busy.size < children ? startChild(script, jobLimits) : undefined)
    if (!child) return
    const first = waiting.shift()
    if (!first) {
      idle.push(child)
      return
    }
    waitingBytes -= first.job.raw.length
    busy.add(child)
    void child
      .run(first.job)
      .then(first.resolve, first.reject)
      .finally(() => {
        busy.delete(child)
        if (child.alive()) idle.push(child)
        if (waiting.length > 0) next()
      })
  }

  return {
    async parse(raw) {
      const outcome = await read({ kind: 'parse', raw })
      return outcome.kind === 'mail' ? outcome.mail : unreadable(outcome)
    },
    async attachment(raw, index) {
      const outcome = await read({ kind: 'attachment', raw, index })
      return outcome.kind === 'attachment' ? outcome.attachment : undefined
    },
    async close() {
      closed = true
      for (const { reject } of waiting.splice(0)) reject(stopping())
      await Promise.all([...busy, ...idle].map((child) => child.end()))
    },
  }
}

/** A fault of our parser is an error; what a mail can do to its child is expected of some mails. */
function tell(log: ParserOptions['log'], job: Job, outcome: Outcome): void {
  const facts = { wanted: job.kind, bytes: job.raw.length }
  if (outcome.kind === 'lost') log.warn({ ...facts, reason: outcome.why }, UNREAD)
  else if (outcome.kind === 'failed') {
    log.error({ ...facts, reason: 'failed', place: outcome.place }, UNREAD)
  } else log.error({ ...facts, reason: `answered with ${outcome.kind}` }, UNREAD)
}

const WANTED = { parse: 'mail', attachment: 'attachment' } as const
const UNREAD = 'a mail could not be read'

function stopping(): Problem {
  return new Problem('shutting_down', 'The service is stopping.', 1)
}
