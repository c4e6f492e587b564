import { faultPlace } from '../sandbox/fault-place.ts'
import { checkDkim, checkDmarc, checkSpf, MAX_KEYS } from './checks.ts'
import { knownAnswers } from './dns.ts'
import type { Answer, Job } from './job.ts'

// Runs as a process of its own, with no right but to read these modules: no file, no network. The parent holds the clock.
// A terminal or a supervisor sends its signals to the whole family; when to stop is the parent's to say, or its end.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('message', (job: Job) => void work(job).then(tell))
tell({ kind: 'ready' })

async function work(job: Job): Promise<Answer> {
  const known = knownAnswers(job.answers, job.kind === 'dkim' ? MAX_KEYS : undefined)
  try {
    const answer = await check(job, known.resolver)
    const questions = known.questions()
    return questions.length > 0 ? { kind: 'unknown', questions } : answer
  } catch (fault) {
    return { kind: 'failed', place: faultPlace(fault) }
  }
}

function check(job: Job, resolver: ReturnType<typeof knownAnswers>['resolver']): Promise<Answer> {
  if (job.kind === 'spf') return checkSpf(job, resolver)
  return job.kind === 'dkim' ? checkDkim(job, resolver) : checkDmarc(job, resolver)
}

function tell(answer: Answer): void {
  process.send?.(answer)
}
