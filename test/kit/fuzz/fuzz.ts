import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { inputOf, minimise } from './mutate.ts'
import type { FuzzTarget } from './target.ts'

export interface Finding {
  kind: 'throws' | 'hangs' | 'slow'
  /** Number of the input: `inputOf` makes it again. */
  number: number
  /** Minimised. */
  input: Buffer
  message: string
}

export interface Outcome {
  inputs: number
  findings: Finding[]
  /** The largest cost of an input, in medians of its size, and in milliseconds. */
  maxCost: number
  maxMs: number
}

/** What the worker is asked for: these inputs, by number, or this one. */
export interface Job {
  target: string
  first: number
  count: number
  /** Index of the input that is running, and how many have been started, those of a minimisation included. */
  running: SharedArrayBuffer
  input?: Uint8Array
}

export type Report = { finding: Finding } | { done: Pick<Outcome, 'maxCost' | 'maxMs'> }

/** More help nobody: those of a kind that hangs take long. */
const MAX_FINDINGS = 5

/** Runs inputs of these numbers in a worker thread, which is terminated if one of them hangs. */
export async function fuzz(
  target: URL,
  { first, count }: { first: number; count: number },
): Promise<Outcome> {
  const outcome: Outcome = { inputs: 0, findings: [], maxCost: 0, maxMs: 0 }
  const { target: subject }: { target: FuzzTarget } = await import(target.href)
  while (outcome.inputs < count && outcome.findings.length < MAX_FINDINGS) {
    const job = { first: first + outcome.inputs, count: count - outcome.inputs }
    const { stopped, done } = await runWorker(target, job, subject.hangMs, (finding) =>
      outcome.findings.push(finding),
    )
    outcome.maxCost = Math.max(outcome.maxCost, done.maxCost)
    outcome.maxMs = Math.max(outcome.maxMs, done.maxMs)
    outcome.inputs += stopped ? stopped.at + 1 : job.count
    if (!stopped) continue
    const { kind, message } = stopped
    const number = job.first + stopped.at
    const input = inputOf(subject, number)
    const stopsAgain = async (other: Buffer) => {
      const alone = { first: 0, count: 1, input: other }
      return (await runWorker(target, alone, subject.hangMs, () => {})).stopped?.kind === kind
    }
    // A busy machine also stops a thread for a while.
    const isCertain = (await stopsAgain(input)) && (await stopsAgain(input))
    if (!isCertain && kind === 'hangs') continue
    const smallest = isCertain ? await minimise(input, stopsAgain, MAX_STOPS) : input
    outcome.findings.push({ kind, number, input: smallest, message })
  }
  return outcome
}

const MAX_STOPS = 60
const NOTHING = { maxCost: 0, maxMs: 0 }

interface Stopped {
  kind: 'hangs' | 'throws'
  /** Index of the input. */
  at: number
  message: string
}

async function runWorker(
  target: URL,
  job: Omit<Job, 'target' | 'running'>,
  hangMs: number,
  found: (finding: Finding) => void,
): Promise<{ stopped?: Stopped; done: Pick<Outcome, 'maxCost' | 'maxMs'> }> {
  const running = new SharedArrayBuffer(8)
  const state = new Int32Array(running)
  const workerData: Job = { ...job, target: target.href, running }
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData })
  let done = NOTHING
  const ended = Promise.withResolvers<Error | undefined>()
  worker.on('message', (report: Report) => {
    if ('done' in report) done = report.done
    else found({ ...report.finding, input: Buffer.from(report.finding.input) })
  })
  // An error that nobody caught, such as one in an event.
  worker.on('error', (error: Error) => ended.resolve(error))
  worker.on('exit', () => ended.resolve(undefined))
  try {
    for (let before = 0; ; ) {
      const end = await Promise.race([ended.promise, sleep(hangMs, 'waiting' as const)])
      const [at = 0, beats = 0] = state
      if (end === undefined) return { done }
      if (end !== 'waiting') {
        if (beats === 0) throw end
        return { done, stopped: { kind: 'throws', at, message: `not caught: ${end.stack}` } }
      }
      const message = `takes longer than ${hangMs} ms`
      if (beats > 0 && beats === before) return { done, stopped: { kind: 'hangs', at, message } }
      before = beats
    }
  } finally {
    await worker.terminate()
  }
}

/** To keep as a test, and to run again. */
export function describeFinding(name: string, { kind, number, input, message }: Finding): string {
  const text = input.toString('latin1')
  const bytes = Buffer.from(text, 'utf8').equals(input) ? '' : ', latin1'
  return `${name}, input ${number}, ${kind}: ${message}\n  ${JSON.stringify(text)}${bytes}`
}
