import type { JobRequest } from '../core/fair-scheduler.ts'
import { plainIp } from '../core/ip.ts'
import type { Log } from '../core/log.ts'
import type { SenderCheckInput, SenderChecks } from '../core/message.ts'
import { toError } from '../core/problem.ts'
import { openProcessPool, type ProcessPool } from '../sandbox/pool.ts'
import type { ChildLost, JobLimits } from '../sandbox/process.ts'
import { runChecks } from './checks.ts'
import type { Dns } from './dns.ts'
import {
  type CheckJob,
  type CheckMessage,
  type CheckRequest,
  type DnsAnswer,
  type DnsQuery,
  queryKey,
} from './job.ts'

/** Judges senders in a child process: whatever a mail does to its judge, it does not do it to the service. */
interface SenderChecker {
  /** Undefined when nothing is known of how the mail came, when too many are waiting, and when there is no child to judge it. `later`: nobody waits for it, and it leaves the others most of the room. */
  check(facts: SenderCheckInput, haste?: 'later'): Promise<SenderChecks | undefined>
  close(): Promise<void>
}

export interface CheckerOptions {
  dns: Dns
  /** Hears of each mail that could not be judged, and why; nothing that stands in it. */
  log: Pick<Log, 'warn' | 'error'>
  limits?: Partial<JobLimits>
  /** For the answers to all questions of one check; two checks are made at once, then the third. */
  dnsMs?: number
  maxConcurrent?: number
  /** Of those that nobody waits for. */
  maxBackground?: number
  maxBytes?: number
  /** What the child runs. */
  script?: URL
}

export function openChecker({
  dns,
  log,
  limits = {},
  dnsMs = 2_500,
  maxConcurrent = 100,
  maxBackground = 20,
  maxBytes = 64 * 1024 * 1024,
  script = new URL('./child.ts', import.meta.url),
}: CheckerOptions): SenderChecker {
  const pool = openProcessPool<CheckJob, CheckMessage>({
    name: 'sender check',
    script,
    folders: [new URL('./', import.meta.url)],
    children: 1,
    limits,
    // The mails are counted here, and each has at most two jobs under way.
    maxWaiting: 2 * maxConcurrent,
    maxWaitingPerKey: 2 * maxConcurrent,
    refusal: 'Too many senders are waiting to be checked.',
  })
  const runner = checkRunner({ pool, dns, log, dnsMs })
  let concurrent = 0
  let bytes = 0
  let closed = false

  return {
    async check(facts, haste) {
      const size = facts.raw.length
      const clientIp = plainIp(facts.clientIp)
      const most = haste === 'later' ? maxBackground : maxConcurrent
      const full = concurrent >= most || bytes + size > maxBytes
      if (!clientIp || full) return undefined
      concurrent += 1
      bytes += size
      try {
        // By sender: whose mail is costly to check delays the checks of others by its share and no more.
        const request = { owner: [`sender ${clientIp}`], background: haste === 'later' }
        return await runChecks(runner(request), { ...facts, clientIp })
      } catch (error) {
        // Nobody is kept from a mail because we cannot say who sent it.
        if (!closed) log.error({ err: toError(error) }, 'senders cannot be checked')
        return undefined
      } finally {
        concurrent -= 1
        bytes -= size
      }
    },
    async close() {
      closed = true
      dns.close()
      await pool.close()
    },
  }
}

/** One check of a mail, with all that the DNS has to say to it. Undefined when the mail breaks its judge, or wants to know too much. */
export type RunCheck = <K extends CheckRequest['kind']>(
  part: Extract<CheckRequest, { kind: K }>,
) => Promise<Extract<CheckMessage, { kind: K }> | undefined>

interface Deps {
  pool: Pick<ProcessPool<CheckJob, CheckMessage>, 'use'>
  dns: Pick<Dns, 'ask'>
  log: Pick<Log, 'warn' | 'error'>
  /** For the answers to all questions of one check. */
  dnsMs: number
}

// RFC 7208 lets one mail cause two hundred; a stranger chooses whom they go to.
const MAX_QUESTIONS = 60
// Each brings at least one answer, as long as the child is sane.
const MAX_ROUNDS = 60

/** Asks the child again and again, each time with the answers to what it did not know, until it knows enough. */
function checkRunner({ pool, dns, log, dnsMs }: Deps): (request: JobRequest) => RunCheck {
  /** Something else may have ended the child; what we say of a mail is kept. */
  async function runWithRetry(
    job: CheckJob,
    request: JobRequest,
  ): Promise<CheckMessage | ChildLost> {
    return await pool.use({}, request, async (run) => {
      const outcome = await run(job)
      return outcome.kind === 'lost' && outcome.reason === 'died' ? await run(job) : outcome
    })
  }

  async function resolveAll(
    questions: DnsQuery[],
    answers: Map<string, DnsAnswer>,
    ended: AbortSignal,
  ): Promise<void> {
    await Promise.all(
      questions.map(async (question) => {
        answers.set(queryKey(question), await dns.ask(question, ended))
      }),
    )
  }

  return (request) => async (part) => {
    const answers = new Map<string, DnsAnswer>()
    let ended: AbortSignal | undefined
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const outcome = await runWithRetry({ ...part, answers } as CheckJob, request)
      if (isReplyTo(part, outcome)) return outcome
      if (outcome.kind !== 'unknown') {
        logFailure(log, part, outcome)
        return undefined
      }
      if (answers.size + outcome.questions.length > MAX_QUESTIONS) return undefined
      // From the first question on: until then it may have waited for the child.
      ended ??= AbortSignal.timeout(dnsMs)
      await resolveAll(outcome.questions, answers, ended)
    }
    return undefined
  }
}

function isReplyTo<K extends CheckRequest['kind']>(
  part: Extract<CheckRequest, { kind: K }>,
  outcome: CheckMessage | ChildLost,
): outcome is Extract<CheckMessage, { kind: K }> {
  return outcome.kind === part.kind
}

/** A fault of our checks is an error; what a mail can do to its child is expected of some mails. */
function logFailure(
  log: Deps['log'],
  { kind }: CheckRequest,
  outcome: CheckMessage | ChildLost,
): void {
  if (outcome.kind === 'lost') log.warn({ wanted: kind, reason: outcome.reason }, NOT_CHECKED)
  else if (outcome.kind === 'failed') {
    log.error({ wanted: kind, reason: 'failed', place: outcome.place }, NOT_CHECKED)
  } else log.error({ wanted: kind, reason: `answered with ${outcome.kind}` }, NOT_CHECKED)
}

const NOT_CHECKED = 'the sender of a mail could not be checked'
