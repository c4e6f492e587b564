import type { JobRequest } from '../core/fair-scheduler.ts'
import type { Log } from '../core/log.ts'
import { EMPTY_MAIL, type Mail } from '../core/message.ts'
import { openProcessPool, type RunJob } from '../sandbox/pool.ts'
import type { ChildLost, JobLimits } from '../sandbox/process.ts'

/** Parses mails in child processes: whatever a mail does to its parser, it does not do it to the service. */
export interface Parser {
  /**
   * Runs the task when it is its owner's turn; its `parse` never rejects by the mail's fault: a mail that cannot be parsed
   * comes back with a text that says so. Requests for the same key share one run, see Pool.
   */
  use<T>(key: unknown, request: JobRequest, task: (parse: Parse) => Promise<T>): Promise<T>
  /** One mail, for the service itself. */
  parse(raw: Uint8Array): Promise<Mail>
  close(): Promise<void>
}

export type Parse = (raw: Uint8Array) => Promise<Mail>

export interface ParserOptions {
  /** Hears of each mail that could not be parsed, and why; nothing that stands in it. */
  log: Pick<Log, 'warn' | 'error'>
  children?: number
  limits?: Partial<JobLimits>
  maxWaiting?: number
  maxWaitingPerKey?: number
  /** What the children run. */
  script?: URL
}

type Outcome = ParserMessage | ChildLost

/** Children are started when there is work for them, at most two, and stay. */
export function openParser({
  log,
  children = 2,
  limits = {},
  maxWaiting = 1_000,
  maxWaitingPerKey = 100,
  script = new URL('./child.ts', import.meta.url),
}: ParserOptions): Parser {
  const pool = openProcessPool<ParseJob, ParserMessage>({
    name: 'parse',
    script,
    folders: [new URL('./', import.meta.url), new URL('../extract/', import.meta.url)],
    children,
    limits,
    maxWaiting,
    maxWaitingPerKey,
    refusal: 'Too many mails are waiting to be parsed.',
  })

  async function parse(run: RunJob<ParseJob, ParserMessage>, raw: Uint8Array): Promise<Mail> {
    let outcome = await run({ raw })
    if (outcome.kind === 'lost' && outcome.reason === 'died') {
      // Something else may have ended the child; what we say of a mail is kept.
      log.warn({ bytes: raw.length }, 'a parse child died; its mail is parsed once more')
      outcome = await run({ raw })
    }
    if (outcome.kind === 'mail') return outcome.mail
    logFailure(log, raw, outcome)
    return unparsableMail(outcome)
  }

  const use: Parser['use'] = (key, request, task) =>
    pool.use(key, request, (run) => task((raw) => parse(run, raw)))
  return {
    use,
    parse: (raw) => use({}, { owner: ['service'] }, (parseOne) => parseOne(raw)),
    close: pool.close,
  }
}

/** A fault of our parser is an error; what a mail can do to its child is expected of some mails. */
function logFailure(
  log: ParserOptions['log'],
  raw: Uint8Array,
  outcome: Exclude<Outcome, { kind: 'mail' }>,
): void {
  const bytes = raw.length
  const reason = { ready: 'answered with ready', lost: '', failed: 'failed' }[outcome.kind]
  if (outcome.kind === 'lost') log.warn({ bytes, reason: outcome.reason }, NOT_PARSED)
  else if (outcome.kind === 'failed') log.error({ bytes, reason, place: outcome.place }, NOT_PARSED)
  else log.error({ bytes, reason }, NOT_PARSED)
}

const NOT_PARSED = 'a mail could not be parsed'

/** What the parent asks of a child: to parse a mail. */
export interface ParseJob {
  raw: Uint8Array
}

/** What a child says: once that it is ready, then one answer per job. */
export type ParserMessage =
  | { kind: 'ready' }
  | { kind: 'mail'; mail: Mail }
  /** By a fault of ours; `place` says which and where. */
  | { kind: 'failed'; place: string }

/** What a reader gets of a mail that could not be read: a text that says so, and the way to the mail itself. */
export function unparsableMail(outcome: ParserMessage | ChildLost): Mail {
  const fault = `This mail could not be parsed: ${reasonOf(outcome)}.`
  return {
    ...EMPTY_MAIL,
    text: `${fault} It is kept exactly as it came, and the raw mail can be downloaded.`,
  }
}

function reasonOf(outcome: ParserMessage | ChildLost): string {
  if (outcome.kind !== 'lost') return 'its structure makes no sense'
  if (outcome.reason === 'too slow') return 'reading it took too long'
  return outcome.reason === 'too large' ? 'reading it took too much memory' : 'its reader gave up'
}
