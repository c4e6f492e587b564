import { errorLocation } from '../sandbox/serve-jobs.ts'
import { checkDkim, checkDmarc, checkSpf, MAX_KEYS } from './checks.ts'
import { resolverFromAnswers } from './dns.ts'
import type { CheckJob, CheckMessage } from './job.ts'

// Runs as a process of its own, with no right but to read these modules: no file, no network. The parent holds the clock.
// A terminal or a supervisor sends its signals to the whole family; when to stop is the parent's to say, or its end.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('message', (job: CheckJob) => void run(job).then(send))
send({ kind: 'ready' })

async function run(job: CheckJob): Promise<CheckMessage> {
  const known = resolverFromAnswers(job.answers, job.kind === 'dkim' ? MAX_KEYS : undefined)
  try {
    const answer = await check(job, known.resolver)
    const questions = known.questions()
    return questions.length > 0 ? { kind: 'unknown', questions } : answer
  } catch (fault) {
    return { kind: 'failed', place: errorLocation(fault) }
  }
}

function check(
  job: CheckJob,
  resolver: ReturnType<typeof resolverFromAnswers>['resolver'],
): Promise<CheckMessage> {
  if (job.kind === 'spf') return checkSpf(job, resolver)
  return job.kind === 'dkim' ? checkDkim(job, resolver) : checkDmarc(job, resolver)
}

function send(answer: CheckMessage): void {
  process.send?.(answer)
}
