import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { childIsolation, launchCommand } from './isolation.ts'
import type { JobFailed } from './serve-jobs.ts'

export interface JobLimits {
  /** CPU time of one job, rather than wall time, so that a busy machine does not fail a job. */
  cpuMs: number
  /** Wall time until a new child is ready. */
  startMs: number
  /** Wall time of one job, for a child that hangs and where CPU time cannot be read. */
  wallMs: number
  memoryMb: number
}

/** Result of a job whose child died or was killed at a limit. */
export interface ChildLost {
  kind: 'lost'
  reason: 'died' | 'too slow' | 'too large'
}

export type SandboxedChild<Job extends object, Result extends { kind: string }> = ReturnType<
  typeof startChild<Job, Result>
>

interface JobOutcome<Result> {
  outcome: Result | JobFailed | ChildLost
  /** CPU time of the job, or wall time where CPU time cannot be read. */
  cpuMs: number
}

const POLL_MS = 50
/**
 * Most CPU time that counts for one poll. If a virtual machine stalls, its pause is CPU time of whatever it was running, and the
 * next poll comes late as well: a mail must not be given up for that.
 */
const MAX_POLL_CPU_MS = 2 * POLL_MS
// Wall time: whoever waits for a job does so whether it runs or waits for a processor. A mail of 200 KB takes half of it.
const SLOW_MS = 500
/** JavaScript heap only; buffers count towards JobLimits.memoryMb. */
const HEAP_MB = 256
// By default V8 lets young objects take 96 MB, most of it garbage, before it collects them. Parsing takes no longer with 12.
const SEMI_SPACE_MB = 4

/** The program of a child, which calls serveJobs. */
export interface ChildProgram {
  /** For error messages. */
  name: string
  script: URL
  /** Folders of its modules, besides core and its own. */
  folders: readonly URL[]
}

/** Starts a child that may read its own modules and nothing else: no other files, no network, no processes. */
export function startChild<Job extends object, Result extends { kind: string }>(
  { name, script, folders }: ChildProgram,
  limits: JobLimits,
) {
  const { command, argv, options } = launchCommand(childIsolation(), [
    process.execPath,
    `--max-old-space-size=${HEAP_MB}`,
    `--max-semi-space-size=${SEMI_SPACE_MB}`,
    '--disallow-code-generation-from-strings',
    '--permission',
    ...readablePaths([new URL('./', script), ...folders]).map((path) => `--allow-fs-read=${path}`),
  ])
  const child = fork(fileURLToPath(script), [], {
    ...options,
    execPath: command,
    execArgv: argv,
    // The environment of the service contains secrets. A child has no threads that allocate much at the same time.
    env: { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '262144' },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.on('error', () => resolve())
  })
  const startedAt = performance.now()
  let uses = 0
  /** An idle child must not keep the process alive, but one that is waited for must. */
  async function held<T>(promise: Promise<T>): Promise<T> {
    uses += 1
    setRef(child, 'ref')
    try {
      return await promise
    } finally {
      uses -= 1
      if (uses === 0) setRef(child, 'unref')
    }
  }
  const ready = held(waitUntilReady(child, name, limits.startMs)).then(() => {
    killFirstIfMemoryRunsOut(child)
    return usageOf(child)?.cpuMs ?? performance.now() - startedAt
  })
  let lost = false
  // The rejection is reported by run().
  ready.catch(() => {
    lost = true
  })

  return {
    /** Resolves with the CPU time of the start. Rejects if the child could not be started. */
    ready,
    /**
     * One job at a time. Rejects only if the child could not be started, which does not depend on the job. Calls `slow`,
     * perhaps more than once, while the job takes much longer than an ordinary one.
     */
    async run(job: Job, slow: () => void = () => {}): Promise<JobOutcome<Result>> {
      await ready
      const completed = await held(runJob<Job, Result>(child, job, { limits, slow }))
      lost = completed.outcome.kind === 'lost'
      return completed
    },
    // A killed child stays connected for a moment.
    alive: () => !lost && child.connected,
    async end(): Promise<void> {
      child.kill('SIGKILL')
      await held(gone)
    },
  }
}

/** The child, not the service: a job is repeated, or one mail is not parsed. */
function killFirstIfMemoryRunsOut(child: ChildProcess): void {
  try {
    writeFileSync(`/proc/${nodeOf(child)}/oom_score_adj`, '1000')
  } catch {
    // Not on Linux, not permitted, or it is gone already.
  }
}

/** Permissions apply to the resolved path, and folders may be symbolic links. */
function readablePaths(folders: readonly URL[]): string[] {
  const shared = ['./', '../base/', '../shared/', '../../node_modules/', '../../package.json']
  const paths = [...folders, ...shared.map((path) => new URL(path, import.meta.url))]
    .map((path) => fileURLToPath(path))
    .filter((path) => existsSync(path))
  return [...new Set(paths.flatMap((path) => [path, realpathSync(path)]))]
}

function setRef(child: ChildProcess, method: 'ref' | 'unref'): void {
  child[method]()
  child.channel?.[method]()
  if (child.stderr instanceof Socket) child.stderr[method]()
}

function runJob<Job extends object, Result extends { kind: string }>(
  child: ChildProcess,
  job: Job,
  { limits, slow }: { limits: JobLimits; slow: () => void },
): Promise<JobOutcome<Result>> {
  const before = usageOf(child)
  let latest = before
  /** Counts towards the limit. */
  let cpuMs = 0
  const startedAt = performance.now()
  const addUsage = () => {
    const now = usageOf(child)
    if (!now || !latest) return
    cpuMs += Math.min(now.cpuMs - latest.cpuMs, MAX_POLL_CPU_MS)
    latest = now
  }
  return new Promise((resolve) => {
    const finish = (outcome: Result | ChildLost) => {
      clearInterval(watch)
      child.off('message', finish)
      child.off('exit', died)
      const elapsedMs = performance.now() - startedAt
      addUsage()
      if (outcome.kind === 'lost') child.kill('SIGKILL')
      resolve({ outcome, cpuMs: before && latest ? latest.cpuMs - before.cpuMs : elapsedMs })
    }
    const died = () => finish({ kind: 'lost', reason: 'died' })
    const watch = setInterval(() => {
      addUsage()
      const used = { cpuMs, memoryMb: latest?.memoryMb ?? 0 }
      const elapsedMs = performance.now() - startedAt
      const reason = exceededLimit(limits, elapsedMs, used)
      if (reason) finish({ kind: 'lost', reason })
      else if (elapsedMs > SLOW_MS) slow()
    }, POLL_MS)
    child.on('message', finish)
    child.on('exit', died)
    child.send(job, (error) => error && died())
  })
}

function usageOf(child: ChildProcess): Usage | undefined {
  return readUsage(nodeOf(child))
}

/** In a PID namespace the forked process is `unshare`, and Node is its only child. */
function nodeOf({ pid = 0 }: ChildProcess): number {
  return childIsolation().kind === 'pid namespace' ? (onlyChildOf(pid) ?? 0) : pid
}

function exceededLimit(
  { cpuMs, wallMs, memoryMb }: JobLimits,
  elapsedMs: number,
  used: Usage,
): 'too slow' | 'too large' | undefined {
  if (elapsedMs > wallMs || used.cpuMs > cpuMs) return 'too slow'
  return used.memoryMb > memoryMb ? 'too large' : undefined
}

/** Resource usage of a process so far. */
interface Usage {
  cpuMs: number
  memoryMb: number
}

/** Undefined without /proc and for a process that is gone. */
function readUsage(pid: number): Usage | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in parentheses may contain anything, including blanks.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = Number(fields[USER]) + Number(fields[SYSTEM])
    const resident = /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
    return { cpuMs: ticks * MS_PER_TICK, memoryMb: Number(resident ?? 0) / 1024 }
  } catch {
    return undefined
  }
}

function onlyChildOf(pid: number): number | undefined {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    return Number.parseInt(children, 10) || undefined
  } catch {
    return undefined
  }
}

// proc(5): fields 14 and 15, counted from the third field.
const USER = 11
const SYSTEM = 12
// USER_HZ is 100 on every platform we support, whatever the kernel's own tick.
const MS_PER_TICK = 10

const MAX_OUTPUT = 8 * 1024
const MAX_REPORTED = 300

/**
 * Resolves when the child reports that it is ready; if it does not start, the error contains its output. Later output
 * may quote mail and is discarded.
 */
function waitUntilReady(child: ChildProcess, name: string, startMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  let output = ''
  const listen = (chunk: Buffer) => {
    output = (output + chunk.toString('latin1')).slice(-MAX_OUTPUT)
  }
  child.stderr?.on('data', listen)
  return new Promise<void>((resolve, reject) => {
    const fail = (reason: unknown) =>
      reject(new Error(`a ${name} child did not start (${reason}): ${lastOutput(output)}`))
    child.once('message', () => resolve())
    child.once('error', (fault) => fail(fault.message))
    // Not 'exit': output may still be in the pipe then.
    child.once('close', (code, signal) => fail(signal ?? code))
    timer = setTimeout(() => {
      fail(`timeout after ${startMs} ms`)
      child.kill('SIGKILL')
    }, startMs).unref()
  }).finally(() => {
    clearTimeout(timer)
    child.stderr?.off('data', listen).resume()
  })
}

/** On one line and without stack frames. */
function lastOutput(output: string): string {
  const lines = output.split('\n').filter((line) => /\w/.test(line) && !/^\s+at /.test(line))
  const words = lines.map((line) => line.trim()).join(' | ')
  return words.slice(-MAX_REPORTED) || 'no output'
}
