import type { Lost } from '../sandbox/process.ts'
import type { Pool } from '../sandbox/pool.ts'
import type { JobRequest } from '../core/fair-scheduler.ts'
import type { Log } from '../core/log.ts'
import type { Dns } from './dns.ts'
import { type Answer, type DnsAnswer, type Job, keyOf, type Part, type Question } from './job.ts'

/** One check of a mail, with all that the DNS has to say to it. Undefined when the mail breaks its judge, or wants to know too much. */
export type Settle = <K extends Part['kind']>(
  part: Extract<Part, { kind: K }>,
) => Promise<Extract<Answer, { kind: K }> | undefined>

interface Needs {
  pool: Pick<Pool<Job, Answer>, 'use'>
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
export function settler({ pool, dns, log, dnsMs }: Needs): (request: JobRequest) => Settle {
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
function tell(log: Needs['log'], { kind }: Part, outcome: Answer | Lost): void {
  if (outcome.kind === 'lost') log.warn({ wanted: kind, reason: outcome.why }, UNCHECKED)
  else if (outcome.kind === 'failed') {
    log.error({ wanted: kind, reason: 'failed', place: outcome.place }, UNCHECKED)
  } else log.error({ wanted: kind, reason: `answered with ${outcome.kind}` }, UNCHECKED)
}

const UNCHECKED = 'the sender of a mail could not be checked'
