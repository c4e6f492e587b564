import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { childIsolation, launchCommand } from './isolation.ts'

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
export interface ChildLost {
  kind: 'lost'
  reason: 'died' | 'too slow' | 'too large'
}

export interface SandboxedChild<Job, Answer> {
  /** Resolves with the CPU time that starting it took. Rejects when it could not be started. */
  ready: Promise<number>
  /** One job at a time. Rejects only when the child could not be started: that says nothing about the mail. */
  run(job: Job): Promise<JobOutcome<Answer>>
  alive(): boolean
  end(): Promise<void>
}

interface JobOutcome<Answer> {
  outcome: Answer | ChildLost
  /** What the job has cost: computing time, or the time that passed where that cannot be read. */
  cpuMs: number
}

const POLL_MS = 50
/** Of the JavaScript heap; buffers come on top, see JobLimits.memoryMb. */
const HEAP_MB = 256

/** Which program a child runs. It says `{ kind: 'ready' }` once, then one answer per job. */
export interface ChildProgram {
  /** For logs: what kind of child it is. */
  name: string
  script: URL
  /** The folders of its modules, which may import those of the core. */
  folders: readonly URL[]
}

/** Starts a child that may read its own modules and nothing else: no other file, no network, no further process. */
export function startChild<Job extends object, Answer extends { kind: string }>(
  { name, script, folders }: ChildProgram,
  limits: JobLimits,
): SandboxedChild<Job, Answer> {
  const { command, argv, options } = launchCommand(childIsolation(), [
    `--max-old-space-size=${HEAP_MB}`,
    '--disallow-code-generation-from-strings',
    '--permission',
    ...readablePaths(folders).map((path) => `--allow-fs-read=${path}`),
  ])
  const child = fork(fileURLToPath(script), [], {
    ...options,
    execPath: command,
    execArgv: argv,
    // Secrets of the service stand in its environment.
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.on('error', () => resolve())
  })
  const startedAt = performance.now()
  const ready = waitUntilReady(child, name, limits.startMs).then(
    () => usageOf(child)?.cpuMs ?? performance.now() - startedAt,
  )
  let lost = false
  // Whoever runs a job hears of it.
  ready.catch(() => {
    lost = true
  })
  // An idle child keeps nobody's program running.
  unrefChild(child)

  return {
    ready,
    async run(job) {
      refChild(child)
      try {
        await ready
        const completed = await runJob<Job, Answer>(child, job, limits)
        lost = completed.outcome.kind === 'lost'
        return completed
      } finally {
        unrefChild(child)
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
function readablePaths(folders: readonly URL[]): string[] {
  const shared = ['./', '../core/', '../../node_modules/', '../../package.json']
  const paths = [...folders, ...shared.map((path) => new URL(path, import.meta.url))]
    .map((path) => fileURLToPath(path))
    .filter((path) => existsSync(path))
  return [...new Set(paths.flatMap((path) => [path, realpathSync(path)]))]
}

function refChild(child: ChildProcess): void {
  child.ref()
  child.channel?.ref()
  if (child.stderr instanceof Socket) child.stderr.ref()
}

function unrefChild(child: ChildProcess): void {
  child.unref()
  child.channel?.unref()
  if (child.stderr instanceof Socket) child.stderr.unref()
}

function runJob<Job extends object, Answer extends { kind: string }>(
  child: ChildProcess,
  job: Job,
  limits: JobLimits,
): Promise<JobOutcome<Answer>> {
  const before = usageOf(child)
  let latest = before
  const startedAt = performance.now()
  return new Promise((resolve) => {
    const finish = (outcome: Answer | ChildLost) => {
      clearInterval(watch)
      child.off('message', answered)
      child.off('exit', died)
      const passedMs = performance.now() - startedAt
      latest = usageOf(child) ?? latest
      if (outcome.kind === 'lost') child.kill('SIGKILL')
      resolve({ outcome, cpuMs: before && latest ? latest.cpuMs - before.cpuMs : passedMs })
    }
    const answered = (answer: Answer) => finish(answer)
    const died = () => finish({ kind: 'lost', reason: 'died' })
    const watch = setInterval(() => {
      latest = usageOf(child) ?? latest
      const why = exceededLimit(limits, performance.now() - startedAt, before, latest)
      if (why) finish({ kind: 'lost', reason: why })
    }, POLL_MS)
    child.on('message', answered)
    child.on('exit', died)
    child.send(job, (fault) => fault && died())
  })
}

/** Where another program starts the child, that program's own use is next to nothing. */
function usageOf({ pid = 0 }: ChildProcess): Usage | undefined {
  return readUsage(childIsolation().kind === 'pid namespace' ? (onlyChildOf(pid) ?? 0) : pid)
}

function exceededLimit(
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

/** What a process has used so far. */
interface Usage {
  cpuMs: number
  memoryMb: number
}

/** Undefined where the system does not tell, and for a process that is gone. */
function readUsage(pid: number): Usage | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in brackets may hold anything, blanks too: the numbers begin after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = Number(fields[USER]) + Number(fields[SYSTEM])
    const resident = /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
    return { cpuMs: ticks * MS_PER_TICK, memoryMb: Number(resident ?? 0) / 1024 }
  } catch {
    return undefined
  }
}

/** The process that this one has started; undefined when there is none, or the system does not tell. */
function onlyChildOf(pid: number): number | undefined {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    return Number.parseInt(children, 10) || undefined
  } catch {
    return undefined
  }
}

// proc(5): fields 14 and 15, counted from the third.
const USER = 11
const SYSTEM = 12
// Linux tells user space 100 ticks a second on every platform of ours, whatever the kernel's own tick is.
const MS_PER_TICK = 10

const MAX_OUTPUT = 8 * 1024
const MAX_REPORTED = 300

/**
 * Resolves when the child says that it is ready. What it prints up to then is told when it does not start; no mail has
 * reached it yet. Later prints are thrown away.
 */
function waitUntilReady(child: ChildProcess, name: string, startMs: number): Promise<void> {
  let clock: NodeJS.Timeout | undefined
  let output = ''
  const listen = (chunk: Buffer) => {
    output = (output + chunk.toString('latin1')).slice(-MAX_OUTPUT)
  }
  child.stderr?.on('data', listen)
  return new Promise<void>((resolve, reject) => {
    const fail = (why: unknown) =>
      reject(new Error(`a ${name} child did not start (${why}): ${lastOutput(output)}`))
    child.once('message', () => resolve())
    child.once('error', (fault) => fail(fault.message))
    // Not 'exit': its last words may still be on their way then.
    child.once('close', (code, signal) => fail(signal ?? code))
    clock = setTimeout(() => {
      fail(`not within ${startMs} ms`)
      child.kill('SIGKILL')
    }, startMs).unref()
  }).finally(() => {
    clearTimeout(clock)
    child.stderr?.off('data', listen).resume()
  })
}

/** On one line, without the places in the code: the sentence of a fault stands above them. */
function lastOutput(heard: string): string {
  const lines = heard.split('\n').filter((line) => /\w/.test(line) && !/^\s+at /.test(line))
  const words = lines.map((line) => line.trim()).join(' | ')
  return words.slice(-MAX_REPORTED) || 'it said nothing'
}
