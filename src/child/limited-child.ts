import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { started } from './child-start.ts'
import { readUsage, type Usage } from './usage.ts'

export interface JobLimits {
  /** Computing time of one job, not time that passes: a busy machine must not cost anybody a mail. */
  cpuMs: number
  /** Until a new child is ready: not the mail's time, and longer on a busy machine. */
  startMs: number
  /** For a child that stands still, and where computing time cannot be read. */
  wallMs: number
  memoryMb: number
}

/** Why there will be no answer: the child is gone. */
export interface Lost {
  kind: 'lost'
  why: 'died' | 'too slow' | 'too large'
}

export interface LimitedChild<Job, Answer> {
  /** One job at a time. Rejects only when the child could not be started: that says nothing about the mail. */
  run(job: Job): Promise<Answer | Lost>
  alive(): boolean
  end(): Promise<void>
}

const LOOK_MS = 50
/** Of the JavaScript heap; buffers come on top, see JobLimits.memoryMb. */
const HEAP_MB = 256

/** Which program a child runs. It says `{ kind: 'ready' }` once, then one answer per job. */
export interface ChildProgram {
  /** For logs: what kind of child it is. */
  name: string
  script: URL
  /** The folder of its modules, which may import those of the core. */
  folder: URL
}

/** Starts a child that may read its own modules and nothing else: no other file, no network, no further process. */
export function startChild<Job extends object, Answer extends { kind: string }>(
  { name, script, folder }: ChildProgram,
  limits: JobLimits,
): LimitedChild<Job, Answer> {
  const child = fork(fileURLToPath(script), [], {
    execArgv: [
      `--max-old-space-size=${HEAP_MB}`,
      '--disallow-code-generation-from-strings',
      '--permission',
      ...readable(folder).map((path) => `--allow-fs-read=${path}`),
    ],
    // Secrets of the service stand in its environment.
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.on('error', () => resolve())
  })
  const ready = started(child, name, limits.startMs)
  let lost = false
  // Whoever runs a job hears of it.
  ready.catch(() => {
    lost = true
  })
  // An idle child keeps nobody's program running.
  rest(child)

  return {
    async run(job) {
      hold(child)
      try {
        await ready
        const outcome = await work<Job, Answer>(child, job, limits)
        lost = outcome.kind === 'lost'
        return outcome
      } finally {
        rest(child)
      }
    },
    // A killed one is still there for a moment.
    alive: () => !lost && child.connected,
    async end() {
      child.ref()
      child.kill('SIGKILL')
      await gone
    },
  }
}

/** The right to read goes by the path that is opened in the end, and folders may be links to elsewhere. */
function readable(folder: URL): string[] {
  const shared = ['./', '../core/', '../../node_modules/', '../../package.json']
  const paths = [folder, ...shared.map((path) => new URL(path, import.meta.url))]
    .map((path) => fileURLToPath(path))
    .filter((path) => existsSync(path))
  return [...new Set(paths.flatMap((path) => [path, realpathSync(path)]))]
}

function hold(child: ChildProcess): void {
  child.ref()
  child.channel?.ref()
  if (child.stderr instanceof Socket) child.stderr.ref()
}

function rest(child: ChildProcess): void {
  child.unref()
  child.channel?.unref()
  if (child.stderr instanceof Socket) child.stderr.unref()
}

function work<Job extends object, Answer extends { kind: string }>(
  child: ChildProcess,
  job: Job,
  limits: JobLimits,
): Promise<Answer | Lost> {
  const before = readUsage(child.pid ?? 0)
  const startedAt = performance.now()
  return new Promise((resolve) => {
    const finish = (outcome: Answer | Lost) => {
      clearInterval(watch)
      child.off('message', answered)
      child.off('exit', died)
      if (outcome.kind === 'lost') child.kill('SIGKILL')
      resolve(outcome)
    }
    const answered = (answer: Answer) => finish(answer)
    const died = () => finish({ kind: 'lost', why: 'died' })
    const watch = setInterval(() => {
      const passedMs = performance.now() - startedAt
      const why = overLimit(limits, passedMs, before, readUsage(child.pid ?? 0))
      if (why) finish({ kind: 'lost', why })
    }, LOOK_MS)
    child.on('message', answered)
    child.on('exit', died)
    child.send(job, (fault) => fault && died())
  })
}

function overLimit(
  { cpuMs, wallMs, memoryMb }: JobLimits,
  passedMs: number,
  before: Usage | undefined,
  now: Usage | undefined,
): 'too slow' | 'too large' | undefined {
  if (passedMs > wallMs) return 'too slow'
  if (!now || !before) return undefined
  if (now.cpuMs - before.cpuMs > cpuMs) return 'too slow'
  return now.memoryMb > memoryMb ? 'too large' : undefined
}
