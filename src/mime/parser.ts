import type { JobLimits, Lost } from '../child/limited-child.ts'
import { type JobName, openPool } from '../child/pool.ts'
import type { Log } from '../core/log.ts'
import type { Mail } from '../core/message.ts'
import type { Answer, Attachment, Job } from './job.ts'
import { unreadable } from './unreadable.ts'

/** Reads mails in child processes: whatever a mail does to its reader, it does not do it to the service. */
export interface Parser {
  /** A mail that cannot be read comes back with a text that says so. */
  parse(raw: Uint8Array, later?: JobName): Promise<Mail>
  hasten(name: JobName): void
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

type Outcome = Answer | Lost

/** Children are started when there is work for them, at most two, and stay. */
export function openParser({
  log,
  children = 2,
  limits = {},
  maxWaiting = 100,
  maxWaitingBytes = 128 * 1024 * 1024,
  script = new URL('./child.ts', import.meta.url),
}: ParserOptions): Parser {
  const pool = openPool<Job, Answer>({
    name: 'parse',
    script,
    folder: new URL('./', import.meta.url),
    children,
    limits,
    maxWaiting,
    maxWaitingBytes,
    bytesOf: ({ raw }) => raw.length,
  })

  async function read(job: Job, later?: JobName): Promise<Outcome> {
    let outcome = await pool.run(job, later)
    if (outcome.kind === 'lost' && outcome.why === 'died') {
      // Something else may have ended the child; what we say of a mail is kept.
      log.warn({ bytes: job.raw.length }, 'a parse child died; its mail is read once more')
      outcome = await pool.run(job, later)
    }
    if (outcome.kind !== WANTED[job.kind]) tell(log, job, outcome)
    return outcome
  }

  return {
    async parse(raw, later) {
      const outcome = await read({ kind: 'parse', raw }, later)
      return outcome.kind === 'mail' ? outcome.mail : unreadable(outcome)
    },
    async attachment(raw, index) {
      const outcome = await read({ kind: 'attachment', raw, index })
      return outcome.kind === 'attachment' ? outcome.attachment : undefined
    },
    hasten: pool.hasten,
    close: pool.close,
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
