import type { JobRequest } from '../core/fair-scheduler.ts'
import { plainIp } from '../core/ip.ts'
import type { Log } from '../core/log.ts'
import type { SenderChecks, SenderFacts } from '../core/message.ts'
import { asError } from '../core/problem.ts'
import { openProcessPool, type ProcessPool } from '../sandbox/pool.ts'
import type { JobLimits, Lost } from '../sandbox/process.ts'
import { judge } from './checks.ts'
import type { Dns } from './dns.ts'
import { type Answer, type DnsAnswer, type Job, keyOf, type Part, type Question } from './job.ts'

/** Judges senders in a child process: whatever a mail does to its judge, it does not do it to the service. */
interface SenderChecker {
  /** Undefined when nothing is known of how the mail came, when too many are waiting, and when there is no child to judge it. `later`: nobody waits for it, and it leaves the others most of the room. */
  check(facts: SenderFacts, haste?: 'later'): Promise<SenderChecks | undefined>
  close(): Promise<void>
}

export interface CheckerOptions {
  dns: Dns
  /** Hears of each mail that could not be judged, and why; nothing that stands in it. */
  log: Pick<Log, 'warn' | 'error'>
  limits?: Partial<JobLimits>
  /** For the answers to all questions of one check; two checks are made at once, then the third. */
  dnsMs?: number
  maxUnderWay?: number
  /** Of those that nobody waits for. */
  maxLater?: number
  maxBytes?: number
  /** What the child runs. */
  script?: URL
}

export function openChecker({
  dns,
  log,
  limits = {},
  dnsMs = 2_500,
  maxUnderWay = 100,
  maxLater = 20,
  maxBytes = 64 * 1024 * 1024,
  script = new URL('./child.ts', import.meta.url),
}: CheckerOptions): SenderChecker {
  const pool = openProcessPool<Job, Answer>({
    name: 'sender check',
    script,
    folders: [new URL('./', import.meta.url)],
    children: 1,
    limits,
    // The mails are counted here, and each has at most two jobs under way.
    maxWaiting: 2 * maxUnderWay,
    maxWaitingPerKey: 2 * maxUnderWay,
    refusal: 'Too many senders are waiting to be checked.',
  })
  const settle = settler({ pool, dns, log, dnsMs })
  let underWay = 0
  let bytes = 0
  let closed = false

  return {
    async check(facts, haste) {
      const size = facts.raw.length
      const clientIp = plainIp(facts.clientIp)
      const most = haste === 'later' ? maxLater : maxUnderWay
      const full = underWay >= most || bytes + size > maxBytes
      if (!clientIp || full) return undefined
      underWay += 1
      bytes += size
      try {
        // By sender: whose mail is costly to check delays the checks of others by its share and no more.
        const request = { owner: [`sender ${clientIp}`], background: haste === 'later' }
        return await judge(settle(request), { ...facts, clientIp })
      } catch (error) {
        // Nobody is kept from a mail because we cannot say who sent it.
        if (!closed) log.error({ err: asError(error) }, 'senders cannot be checked')
        return undefined
      } finally {
        underWay -= 1
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
export type Settle = <K extends Part['kind']>(
  part: Extract<Part, { kind: K }>,
) => Promise<Extract<Answer, { kind: K }> | undefined>

interface Deps {
  pool: Pick<ProcessPool<Job, Answer>, 'use'>
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
function settler({ pool, dns, log, dnsMs }: Deps): (request: JobRequest) => Settle {
  /** Something else may have ended the child; what we say of a mail is kept. */
  async function runTwice(job: Job, request: JobRequest): Promise<Answer | Lost> {
    return await pool.use({}, request, async (run) => {
      const outcome = await run(job)
      return outcome.kind === 'lost' && outcome.why === 'died' ? await run(job) : outcome
    })
  }

  async function askAll(
    questions: Question[],
    answers: Map<string, DnsAnswer>,
    ended: AbortSignal,
  ): Promise<void> {
    await Promise.all(
      questions.map(async (question) => {
        answers.set(keyOf(question), await dns.ask(question, ended))
      }),
    )
  }

  return (request) => async (part) => {
    const answers = new Map<string, DnsAnswer>()
    let ended: AbortSignal | undefined
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const outcome = await runTwice({ ...part, answers } as Job, request)
      if (isFor(part, outcome)) return outcome
      if (outcome.kind !== 'unknown') {
        tell(log, part, outcome)
        return undefined
      }
      if (answers.size + outcome.questions.length > MAX_QUESTIONS) return undefined
      // From the first question on: until then it may have waited for the child.
      ended ??= AbortSignal.timeout(dnsMs)
      await askAll(outcome.questions, answers, ended)
    }
    return undefined
  }
}

function isFor<K extends Part['kind']>(
  part: Extract<Part, { kind: K }>,
  outcome: Answer | Lost,
): outcome is Extract<Answer, { kind: K }> {
  return outcome.kind === part.kind
}

/** A fault of our checks is an error; what a mail can do to its child is expected of some mails. */
function tell(log: Deps['log'], { kind }: Part, outcome: Answer | Lost): void {
  if (outcome.kind === 'lost') log.warn({ wanted: kind, reason: outcome.why }, UNCHECKED)
  else if (outcome.kind === 'failed') {
    log.error({ wanted: kind, reason: 'failed', place: outcome.place }, UNCHECKED)
  } else log.error({ wanted: kind, reason: `answered with ${outcome.kind}` }, UNCHECKED)
}

const UNCHECKED = 'the sender of a mail could not be checked'
