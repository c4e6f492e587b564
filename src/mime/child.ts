import { faultPlace } from '../sandbox/fault-place.ts'
import type { Answer, Job } from './job.ts'
import { parseMail } from './parse.ts'

// Runs as a process of its own, with no right but to read these modules. One job at a time; the parent holds the clock.
// A terminal or a supervisor sends its signals to the whole family; when to stop is the parent's to say, or its end.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('message', (job: Job) => tell(work(job)))
tell({ kind: 'ready' })

function work({ raw }: Job): Answer {
  try {
    return { kind: 'mail', mail: parseMail(raw) }
  } catch (fault) {
    return { kind: 'failed', place: faultPlace(fault) }
  }
}

function tell(answer: Answer): void {
  process.send?.(answer)
}
