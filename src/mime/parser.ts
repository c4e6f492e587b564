import type { JobRequest } from '../base/fair-scheduler.ts'
import type { Log } from '../base/log/log.ts'
import { gauge, histogram } from '../base/metrics.ts'
import {
  logFailure,
  openProcessPool,
  openSandbox,
  type RunJob,
  type Sandbox,
  type SandboxOptions,
} from '../sandbox/pool.ts'
import type { ChildLost } from '../sandbox/process.ts'
import type { JobFailed } from '../sandbox/serve-jobs.ts'
import { EMPTY_MAIL, type Mail } from '../shared/mail.ts'

/** Parses mail in child processes, so that a mail that breaks its parser does not harm the service. */
export interface Parser {
  /**
   * Runs the task when it is its owner's turn. Its `parse` never rejects because of the mail: for a mail that cannot be
   * parsed, the text says so. Requests for the same key share one run, see ProcessPool.
   */
  use<T>(key: unknown, request: JobRequest, task: (parse: Parse) => Promise<T>): Promise<T>
  /** Parses one mail on behalf of the service itself. */
  parse(raw: Uint8Array): Promise<Mail>
  /** Leaves the sandbox open. */
  close(): void
}

export type Parse = (raw: Uint8Array) => Promise<Mail>

export interface ParseJob {
  kind: 'parse'
  raw: Uint8Array
}

export interface ParseResult {
  kind: 'mail'
  mail: Mail
}

export interface ParserOptions {
  /** Gets a line for each mail that could not be parsed, with the reason and none of its content. */
  log: Pick<Log, 'warn' | 'error'>
  sandbox: Sandbox
}

const pools = new Set<{ waiting(): number }>()
gauge('mayfly_parse_waiting', 'Mails that wait to be parsed', () =>
  pools.values().reduce((sum, pool) => sum + pool.waiting(), 0),
)
const parseSeconds = histogram('mayfly_parse_seconds', 'Time to parse a mail')

const FOLDERS = ['./', '../codes/', '../sender-auth/']

/** The child processes that parse mails and check senders. */
export function openMailSandbox(options: Partial<SandboxOptions> = {}): Sandbox {
  return openSandbox({
    name: 'mail',
    script: new URL('./child.ts', import.meta.url),
    folders: FOLDERS.map((path) => new URL(path, import.meta.url)),
    ...options,
  })
}

export function openParser({ log, sandbox }: ParserOptions): Parser {
  const pool = openProcessPool<ParseJob, ParseResult>(sandbox, {
    maxWaiting: 1_000,
    maxWaitingPerKey: 100,
    overloadMessage: 'Too many messages are waiting to be parsed.',
  })
  pools.add(pool)

  async function parse(run: RunJob<ParseJob, ParseResult>, raw: Uint8Array): Promise<Mail> {
    const startedAt = performance.now()
    let outcome = await run({ kind: 'parse', raw })
    if (outcome.kind === 'lost' && outcome.reason === 'died') {
      // The mail may not be the cause, and the result is stored for good.
      log.warn({ bytes: raw.length }, 'a child died; parsing its mail again')
      outcome = await run({ kind: 'parse', raw })
    }
    parseSeconds.observe('', (performance.now() - startedAt) / 1000)
    if (outcome.kind === 'mail') return outcome.mail
    logFailure(log, { bytes: raw.length }, outcome, 'cannot parse a mail')
    return unparsableMail(outcome)
  }

  const use: Parser['use'] = (key, request, task) =>
    pool.use(key, request, (run) => task((raw) => parse(run, raw)))
  return {
    use,
    parse: (raw) => use({}, { owner: ['service'] }, (parseOne) => parseOne(raw)),
    close() {
      pools.delete(pool)
      pool.close()
    },
  }
}

/** Shown in place of a mail that could not be parsed. */
function unparsableMail(outcome: JobFailed | ChildLost): Mail {
  const reason = outcome.kind === 'lost' ? LOST_REASON[outcome.reason] : 'its structure is invalid'
  return {
    ...EMPTY_MAIL,
    text: `This message could not be parsed: ${reason}. It is stored unchanged, and the raw message can be downloaded.`,
  }
}

const LOST_REASON: Record<ChildLost['reason'], string> = {
  died: 'the parser crashed',
  'too slow': 'parsing took too long',
  'too large': 'parsing took too much memory',
}
