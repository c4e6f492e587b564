import type { SchedulerOptions } from '../base/fair-queue.ts'
import { type JobRequest, openScheduler } from '../base/fair-scheduler.ts'
import type { Log, LogFacts } from '../base/log/log.ts'
import { shuttingDown } from '../base/problem.ts'
import {
  type ChildLost,
  type ChildProgram,
  type JobLimits,
  type SandboxedChild,
  startChild,
} from './process.ts'
import type { JobFailed } from './serve-jobs.ts'

/** Runs a job in a child, which has no other job meanwhile. */
export type RunJob<Job, Result> = (job: Job) => Promise<Result | JobFailed | ChildLost>
type Task<Job, Result, T> = (run: RunJob<Job, Result>) => Promise<T>

/** Child processes for work on untrusted input. */
export interface ProcessPool<Job, Result> {
  /** Runs the task when it is its owner's turn. Requests for the same key share one run, see FairScheduler. */
  use<T>(key: unknown, request: JobRequest, task: Task<Job, Result, T>): Promise<T>
  /** See FairScheduler. */
  waiting(): number
  /** Rejects waiting tasks. Leaves the sandbox open. */
  close(): void
}

export interface SandboxOptions extends ChildProgram {
  /** Default: 2. */
  children?: number
  /** Of these, how many run only while a job of the others is slow; default: none. */
  reserve?: number
  limits?: Partial<JobLimits>
  /** How long a child without a job is kept. */
  idleMs?: number
}

// A start takes 0.3 s, and 20 to 50 MB are free until then. With a mail every few seconds nobody waits for one.
const IDLE_MS = 20_000
const LIMITS: JobLimits = { startMs: 30_000, cpuMs: 1_000, wallMs: 30_000, memoryMb: 512 }

/** Runs tasks in the children of a sandbox, which pools may share. The cost of a job is its CPU time. */
export function openProcessPool<Job extends object, Result extends { kind: string }>(
  sandbox: Sandbox,
  options: Omit<SchedulerOptions, 'slots'>,
): ProcessPool<Job, Result> {
  const scheduler = openScheduler({ ...options, slots: sandbox.most })
  return {
    async use(key, request, task) {
      return await scheduler.run(key, request, () => {
        const { run, end } = openTask<Job, Result>(sandbox)
        const result = task(run)
        return { result, cost: result.then(end, end) }
      })
    },
    waiting: scheduler.waiting,
    close: scheduler.close,
  }
}

/** A failed job is a bug of ours and logged as an error; some input is expected to exceed the limits. */
export function logFailure(
  log: Pick<Log, 'warn' | 'error'>,
  facts: LogFacts,
  outcome: JobFailed | ChildLost,
  message: string,
): void {
  if (outcome.kind === 'lost') log.warn({ ...facts, reason: outcome.reason }, message)
  else log.error({ ...facts, reason: 'failed', location: outcome.location }, message)
}

type Child = SandboxedChild<object, { kind: string }>
export type Sandbox = ReturnType<typeof openSandbox>

/** Gives each job a child of its own. Children are started on demand, reused, and end when there is nothing to do. */
export function openSandbox({
  children: most = 2,
  reserve = 0,
  limits,
  idleMs = IDLE_MS,
  ...program
}: SandboxOptions) {
  const usual = Math.max(1, most - reserve)
  const all = new Set<Child>()
  const idle = openIdleChildren(idleMs, (child) => all.delete(child))
  const waiting: PromiseWithResolvers<Child>[] = []
  let closed = false

  async function take(): Promise<Child> {
    if (closed) throw shuttingDown()
    const child = idle.take()
    if (child) {
      // A spare child starts meanwhile, so that one owner's job does not make another wait for a start. The first of all has
      // none yet: an idle service needs only that one.
      if (idle.isEmpty() && all.size < usual) give(start())
      return child
    }
    if (all.size < usual) return start()
    const turn = Promise.withResolvers<Child>()
    waiting.push(turn)
    return await turn.promise
  }

  function give(child: Child): void {
    const next = waiting.shift()
    if (next) next.resolve(child)
    else idle.add(child)
  }

  function start(): Child {
    const child: Child = startChild(program, { ...LIMITS, ...limits })
    all.add(child)
    return child
  }

  /** If another job waits: it need not wait for a slow one. */
  function startReserve(): void {
    if (waiting.length > 0 && all.size < most) give(start())
  }

  return {
    most,
    start,
    startReserve,
    take,
    giveBack(child: Child): void {
      if (child.alive()) {
        give(child)
        return
      }
      all.delete(child)
      startReserve()
    },
    isClosed: () => closed,
    async close() {
      closed = true
      idle.close()
      for (const turn of waiting.splice(0)) turn.reject(shuttingDown())
      await Promise.all([...all].map((child) => child.end()))
    },
  }
}

/** Runs the jobs of one task. */
function openTask<Job extends object, Result extends { kind: string }>(children: Sandbox) {
  let costMs = 0
  let hasLost = false
  const run: RunJob<Job, Result> = async (job) => {
    const child = await children.take()
    try {
      const { outcome, cpuMs } = await child.run(job, children.startReserve)
      costMs += cpuMs
      hasLost ||= !child.alive()
      if (!child.alive() && children.isClosed()) throw shuttingDown()
      return outcome as Result | JobFailed | ChildLost
    } finally {
      children.giveBack(child)
    }
  }
  return {
    run,
    /**
     * Resolves with the CPU time of the task. A task that killed a child also pays for the next one: its start is part of
     * the cost, and the slot stays occupied until then.
     */
    async end(): Promise<number> {
      if (!hasLost || children.isClosed()) return costMs
      const child = children.start()
      costMs += await child.ready.catch(() => 0)
      children.giveBack(child)
      return costMs
    },
  }
}

/** Children without a job. Each ends after a while. */
function openIdleChildren(idleMs: number, gone: (child: Child) => void) {
  const timers = new Map<Child, NodeJS.Timeout>()

  function remove(child: Child): void {
    clearTimeout(timers.get(child))
    timers.delete(child)
  }

  return {
    isEmpty: () => timers.size === 0,
    /** The one that was used last. */
    take(): Child | undefined {
      for (const child of [...timers.keys()].reverse()) {
        remove(child)
        if (child.alive()) return child
        gone(child)
      }
      return undefined
    },
    add(child: Child): void {
      const end = () => {
        remove(child)
        gone(child)
        void child.end()
      }
      timers.set(child, setTimeout(end, idleMs).unref())
    },
    close(): void {
      for (const timer of timers.values()) clearTimeout(timer)
    },
  }
}
