import { writeSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { openCosts } from './costs.ts'
import type { Job, Report } from './fuzz.ts'
import { inputOf, minimise } from './mutate.ts'
import type { FuzzTarget } from './target.ts'

// Runs inputs of one target. The parent reads what is running from a file, also after a crash, and kills this process if an input
// hangs.

const MAX_TRIES = 2_000
const WARM_UP = 500
/** The system measures CPU time in steps of some milliseconds: only several runs take measurable time. */
const CPU_MS = 500
const MAX_CPU_RUNS = 100
/** Descriptor of the file. */
const PROGRESS = 4
const progress = { at: 0, beats: 0, accepted: 0 }

process.once('disconnect', () => process.exit())
const job: Job = JSON.parse(process.argv[2] ?? '')
const { target }: { target: FuzzTarget } = await import(job.target)
const close = await target.open?.()
const costs = openCosts(async (input) => (await run(input)).ms, cpuMsOf)
if (job.input === undefined) await runAll()
else await run(Buffer.from(job.input, 'base64'))
const { slow, ...done } = await costs.judge()
for (const finding of slow) report({ finding })
beat()
await close?.()
process.send?.({ done } satisfies Report, () => process.exit())

async function runAll(): Promise<void> {
  const seen = new Set<string>()
  const { first, count } = job
  // The first ones are measured at the end, when their code has been compiled.
  const warmUp = Math.min(WARM_UP, Math.ceil(count / 10))
  for (let at = 0; at < count + warmUp; at += 1) {
    // For messages of the parent.
    if (at % 100 === 0) await setImmediate()
    progress.at = at % count
    const number = first + progress.at
    const input = inputOf(target, number)
    const { error: thrown, isAccepted, ms } = await run(input)
    if (at >= warmUp) await costs.add(input, number, ms)
    if (at >= count) continue
    if (isAccepted) progress.accepted += 1
    const error = thrown ?? (await compare(input))
    if (error === undefined || seen.has(placeOf(error))) continue
    seen.add(placeOf(error))
    const isSame = async (other: Buffer) => {
      const next = (await run(other)).error ?? (await compare(other))
      return next !== undefined && placeOf(next) === placeOf(error)
    }
    const smallest = await minimise(input, isSame, MAX_TRIES)
    const message = error.split('\n', 4).join('\n').slice(0, 600)
    report({ finding: { kind: 'throws', number, input: smallest, message } })
  }
}

async function run(input: Buffer) {
  beat()
  const start = activeMs()
  try {
    // Most are done at once.
    const result = target.run(input)
    const isAccepted: boolean = typeof result === 'boolean' ? result : await result
    return { isAccepted, ms: activeMs() - start, error: undefined }
  } catch (error) {
    return { isAccepted: false, ms: activeMs() - start, error: stackOf(error) }
  }
}

async function compare(input: Buffer): Promise<string | undefined> {
  if (!target.compare) return undefined
  beat()
  try {
    await target.compare(input)
    return undefined
  } catch (error) {
    return stackOf(error)
  }
}

/** Time in which the event loop did not wait for sockets, timers, or another process. */
function activeMs(): number {
  return performance.eventLoopUtilization().active
}

async function cpuMsOf(input: Buffer): Promise<number> {
  const before = process.threadCpuUsage()
  for (let runs = 1; ; runs += 1) {
    await run(input)
    const { user, system } = process.threadCpuUsage(before)
    const ms = (user + system) / 1_000
    if (ms >= CPU_MS || runs === MAX_CPU_RUNS) return ms / runs
  }
}

function beat(): void {
  progress.beats += 1
  writeSync(PROGRESS, Int32Array.of(progress.at, progress.beats, progress.accepted), 0, 12, 0)
}

function report(message: Report): void {
  process.send?.(message)
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** The same fault of other inputs is thrown at the same place. */
function placeOf(error: string): string {
  const [message = '', ...frames] = error.split('\n')
  const place = frames.find((frame) => /^ +at (?!check )/.test(frame)) ?? ''
  return `${message.replace(/:(?! \w*Error).*|[0-9]+/, '').slice(0, 60)} ${place}`
}
