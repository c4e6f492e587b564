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
  const hangs = async (input: Buffer) => {
    const job = { first: 0, count: 1, input }
    return (await runWorker(target, job, subject.hangMs, () => {})).hungAt !== undefined
  }
  while (outcome.inputs < count && outcome.findings.length < MAX_FINDINGS) {
    const job = { first: first + outcome.inputs, count: count - outcome.inputs }
    const { hungAt, done } = await runWorker(target, job, subject.hangMs, (finding) =>
      outcome.findings.push(finding),
    )
    outcome.maxCost = Math.max(outcome.maxCost, done.maxCost)
    outcome.maxMs = Math.max(outcome.maxMs, done.maxMs)
    outcome.inputs += hungAt === undefined ? job.count : hungAt + 1
    if (hungAt === undefined) continue
    const number = job.first + hungAt
    const input = inputOf(subject, number)
    // A busy machine also stops a thread for a while.
    if (!(await hangs(input)) || !(await hangs(input))) continue
    const smallest = await minimise(input, hangs, MAX_HANGS)
    const message = `takes longer than ${subject.hangMs} ms`
    outcome.findings.push({ kind: 'hangs', number, input: smallest, message })
  }
  return outcome
}

const MAX_HANGS = 60
const NOTHING = { maxCost: 0, maxMs: 0 }

async function runWorker(
  target: URL,
  job: Omit<Job, 'target' | 'running'>,
  hangMs: number,
  found: (finding: Finding) => void,
) {
  const running = new SharedArrayBuffer(8)
  const state = new Int32Array(running)
  const workerData: Job = { ...job, target: target.href, running }
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData })
  let done: Pick<Outcome, 'maxCost' | 'maxMs'> | undefined
  const { promise: exited, resolve, reject } = Promise.withResolvers<void>()
  worker.on('message', (report: Report) => {
    if ('done' in report) done = report.done
    else found({ ...report.finding, input: Buffer.from(report.finding.input) })
  })
  worker.on('error', reject)
  worker.on('exit', () => (done ? resolve() : reject(new Error('the worker ended early'))))
  // Also handled if the worker is terminated.
  exited.catch(() => {})
  try {
    for (let before = 0; ; ) {
      const ended = await Promise.race([exited.then(() => true), sleep(hangMs, false)])
      if (ended) return { hungAt: undefined, done: done ?? NOTHING }
      const [hungAt = 0, beats = 0] = state
      if (beats > 0 && beats === before) return { hungAt, done: NOTHING }
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
