import { parentPort, workerData } from 'node:worker_threads'
import { openCosts } from './costs.ts'
import type { Job, Report } from './fuzz.ts'
import { inputOf, minimise } from './mutate.ts'
import type { FuzzTarget } from './target.ts'

// Runs inputs of one target. The parent watches `running`, and ends this thread if an input hangs.

const MAX_TRIES = 2_000
const [RUNNING, BEATS] = [0, 1]

const job: Job = workerData
const { target }: { target: FuzzTarget } = await import(job.target)
const running = new Int32Array(job.running)
const report = (message: Report) => parentPort?.postMessage(message)
const close = await target.open?.()
if (job.input) {
  await run(Buffer.from(job.input))
  report({ done: { maxCost: 0, maxMs: 0 } })
} else await runAll()
await close?.()

async function runAll(): Promise<void> {
  const seen = new Set<string>()
  const costs = openCosts(run, target.maxCost)
  for (let at = 0; at < job.count; at += 1) {
    const number = job.first + at
    const input = inputOf(target, number)
    running[RUNNING] = at
    const start = performance.now()
    const thrown = await run(input)
    costs.add(input, number, performance.now() - start)
    const error = thrown ?? (await compare(input))
    if (error === undefined || seen.has(placeOf(error))) continue
    seen.add(placeOf(error))
    const isSame = async (other: Buffer) => {
      const next = (await run(other)) ?? (await compare(other))
      return next !== undefined && placeOf(next) === placeOf(error)
    }
    const smallest = await minimise(input, isSame, MAX_TRIES)
    const message = error.split('\n', 4).join('\n').slice(0, 600)
    report({ finding: { kind: 'throws', number, input: smallest, message } })
  }
  const { slow, ...done } = await costs.judge()
  for (const finding of slow) report({ finding })
  report({ done })
}

function run(input: Buffer): Promise<string | undefined> {
  return errorOf(() => target.run(input))
}

function compare(input: Buffer): Promise<string | undefined> {
  return errorOf(() => target.compare?.(input))
}

async function errorOf(work: () => unknown): Promise<string | undefined> {
  Atomics.add(running, BEATS, 1)
  try {
    const result = work()
    if (result instanceof Promise) await result
    return undefined
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
}

/** The same fault of other inputs is thrown at the same place. */
function placeOf(error: string): string {
  const [message = '', ...frames] = error.split('\n')
  const place = frames.find((frame) => !frame.includes('at check ')) ?? ''
  return `${message.replace(/:(?! \w*Error).*|[0-9]+/, '').slice(0, 60)} ${place}`
}
