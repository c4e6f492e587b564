import { errorLocation } from '../sandbox/serve-jobs.ts'
import { parseMail } from './parse.ts'
import type { ParseJob, ParserMessage } from './parser.ts'

// Runs as a process of its own, with no right but to read these modules. One job at a time; the parent holds the clock.
// A terminal or a supervisor sends its signals to the whole family; when to stop is the parent's to say, or its end.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('message', (job: ParseJob) => send(run(job)))
send({ kind: 'ready' })

function run({ raw }: ParseJob): ParserMessage {
  try {
    return { kind: 'mail', mail: parseMail(raw) }
  } catch (fault) {
    return { kind: 'failed', place: errorLocation(fault) }
  }
}

function send(answer: ParserMessage): void {
  process.send?.(answer)
}
