import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { tempFolder } from '../store/stores.ts'
import { checkSeeds, inputOf, minimise } from './mutate.ts'
import type { FuzzTarget } from './target.ts'

export interface Finding {
  kind: 'throws' | 'crashes' | 'hangs' | 'slow'
  /** Number of the input: `inputOf` makes it again. */
  number: number
  /** Minimised. */
  input: Buffer
  message: string
}

export interface Outcome {
  inputs: number
  /** Inputs that got past the first parser. */
  accepted: number
  findings: Finding[]
  /** The largest cost of an input, in medians of its size, and in milliseconds. */
  maxCost: number
  maxMs: number
}

/** What the worker is asked for: these inputs, by number, or this one, as base64. */
export interface Job {
  target: string
  first: number
  count: number
  input?: string
}

export type Report = { finding: Finding } | { done: Costs }

type Costs = Pick<Outcome, 'maxCost' | 'maxMs'>

/** More help nobody: those of a kind that hangs take long. */
const MAX_FINDINGS = 5
const HANG_MS = 5_000
/** To minimise an input that hangs or crashes. */
const MAX_STOPS = 60
const MAX_HANGING_MS = 300_000

/** Runs inputs of these numbers in a process of its own, which is killed if one of them hangs. */
export async function fuzz(
  target: URL,
  { first, count }: { first: number; count: number },
): Promise<Outcome> {
  const outcome: Outcome = { inputs: 0, accepted: 0, findings: [], maxCost: 0, maxMs: 0 }
  const { target: subject }: { target: FuzzTarget } = await import(target.href)
  checkSeeds(subject)
  const { hangMs = HANG_MS } = subject
  while (outcome.inputs < count && outcome.findings.length < MAX_FINDINGS) {
    const job = { first: first + outcome.inputs, count: count - outcome.inputs }
    const { stopped, done, accepted } = await runWorker(target, job, hangMs, (finding) =>
      outcome.findings.push(finding),
    )
    outcome.maxCost = Math.max(outcome.maxCost, done.maxCost)
    outcome.maxMs = Math.max(outcome.maxMs, done.maxMs)
    outcome.accepted += accepted
    outcome.inputs += stopped ? stopped.at + 1 : job.count
    if (!stopped) continue
    const { kind, message } = stopped
    const number = job.first + stopped.at
    const input = inputOf(subject, number)
    const stopsAgain = async (other: Buffer) => {
      const alone = { first: 0, count: 1, input: other.toString('base64') }
      return (await runWorker(target, alone, hangMs, () => {})).stopped?.kind === kind
    }
    const isRepeated = (await stopsAgain(input)) && (await stopsAgain(input))
    const maxTries = kind === 'hangs' ? Math.min(MAX_STOPS, MAX_HANGING_MS / hangMs) : MAX_STOPS
    outcome.findings.push({
      kind,
      number,
      input: isRepeated ? await minimise(input, stopsAgain, maxTries) : input,
      message: isRepeated ? message : `${message}; alone, it does not`,
    })
  }
  return outcome
}

interface Stopped {
  kind: 'crashes' | 'hangs'
  /** Index of the input. */
  at: number
  message: string
}

interface Result {
  stopped?: Stopped
  done: Costs
  accepted: number
}

const NO_COSTS: Costs = { maxCost: 0, maxMs: 0 }
const START_MS = 120_000

async function runWorker(
  target: URL,
  order: Omit<Job, 'target'>,
  hangMs: number,
  found: (finding: Finding) => void,
): Promise<Result> {
  const folder = tempFolder()
  // PostgreSQL runs as another user.
  chmodSync(folder.path, 0o755)
  const progress = openSync(join(folder.path, 'progress'), 'w+')
  const job: Job = { ...order, target: target.href }
  const worker = fork(new URL('./worker.ts', import.meta.url), [JSON.stringify(job)], {
    env: { ...process.env, TMPDIR: folder.path },
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc', progress],
  })
  let errors = ''
  let done: Costs | undefined
  worker.stderr?.on('data', (chunk) => {
    errors = `${errors}${chunk}`.slice(-2_000)
  })
  worker.on('message', (report: Report) => {
    if ('done' in report) done = report.done
    else found({ ...report.finding, input: Buffer.from(report.finding.input) })
  })
  const ended = once(worker, 'close')
  const started = performance.now()
  try {
    for (let before = 0; ; ) {
      const end = await Promise.race([ended, sleep(hangMs, undefined, { ref: false })])
      const { at, beats, accepted } = readProgress(progress)
      if (end && done) return { done, accepted }
      if (beats === 0) checkStart(end, started, `${target} did not start: ${errors}`)
      if (end) {
        const message = `ends with ${exitOf(end)}: ${errors.trim()}`
        return { stopped: { kind: 'crashes', at, message }, done: NO_COSTS, accepted }
      }
      if (beats > 0 && beats === before) {
        const message = `takes longer than ${hangMs} ms`
        return { stopped: { kind: 'hangs', at, message }, done: NO_COSTS, accepted }
      }
      before = beats
    }
  } finally {
    worker.kill('SIGKILL')
    await ended
    closeSync(progress)
    folder.remove()
  }
}

function checkStart(end: unknown, started: number, message: string): void {
  if (end || performance.now() - started > START_MS) throw new Error(message)
}

function exitOf([status, signal]: (number | string | null)[]): string {
  return signal === null ? `status ${status}` : String(signal)
}

/** Index of the input, runs that were started, inputs that were accepted. */
function readProgress(file: number) {
  const numbers = new Int32Array(3)
  readSync(file, numbers, 0, numbers.byteLength, 0)
  const [at = 0, beats = 0, accepted = 0] = numbers
  return { at, beats, accepted }
}

/** To keep as a test, and to run again: `target.run(Buffer.from(…, 'base64'))`. */
export function describeFinding(name: string, { kind, number, input, message }: Finding): string {
  const text = JSON.stringify(input.toString('latin1').slice(0, 200))
  return `${name}, input ${number}, ${kind}: ${message}\n  base64: ${input.toString('base64')}\n  latin1: ${text}`
}
