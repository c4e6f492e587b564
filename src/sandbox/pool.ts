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

/** Runs a job in the child that is leased to the task. */
export type RunJob<Job, Result> = (job: Job) => Promise<Result | JobFailed | ChildLost>
type Task<Job, Result, T> = (run: RunJob<Job, Result>) => Promise<T>

/** Child processes for work on untrusted input. */
export interface ProcessPool<Job, Result> {
  /** Runs the task with a child of its own when it is its owner's turn. Requests for the same key share one run, see FairScheduler. */
  use<T>(key: unknown, request: JobRequest, task: Task<Job, Result, T>): Promise<T>
  /** See FairScheduler. */
  waiting(): number
  close(): Promise<void>
}

interface PoolOptions extends ChildProgram, Omit<SchedulerOptions, 'slots'> {
  children: number
  limits: Partial<JobLimits>
  /** How long a child without a job is kept. */
  idleMs?: number
}

// A start takes 0.3 s, and 20 to 50 MB are free until then. With a mail every few seconds nobody waits for one.
const IDLE_MS = 20_000
const LIMITS: JobLimits = { startMs: 30_000, cpuMs: 1_000, wallMs: 30_000, memoryMb: 512 }

/** Children are started on demand, reused, and end when there is nothing to do. The cost of a job is its CPU time. */
export function openProcessPool<Job extends object, Result extends { kind: string }>(
  options: PoolOptions,
): ProcessPool<Job, Result> {
  const { children: most, limits, idleMs = IDLE_MS } = options
  const workers = openChildren<Job, Result>(options, { ...LIMITS, ...limits }, { most, idleMs })
  const scheduler = openScheduler({ ...options, slots: most })
  return {
    async use(key, request, task) {
      return await scheduler.run(key, request, () => {
        const { run, release } = workers.lease()
        const result = task(run)
        return { result, cost: result.then(release, release) }
      })
    },
    waiting: scheduler.waiting,
    async close() {
      scheduler.close()
      await workers.close()
    },
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

/** Leases each child to one task at a time. */
function openChildren<Job extends object, Result extends { kind: string }>(
  program: ChildProgram,
  limits: JobLimits,
  { most, idleMs }: { most: number; idleMs: number },
) {
  const all = new Set<SandboxedChild<Job, Result>>()
  const idle = openIdleChildren<SandboxedChild<Job, Result>>(idleMs, (child) => all.delete(child))
  let closed = false

  function take(): SandboxedChild<Job, Result> {
    const child = idle.take()
    // The first of all has no spare yet: an idle service needs only that one.
    if (!child) return start()
    // A spare child starts meanwhile, so that one owner's job does not make another wait for a start.
    if (idle.isEmpty() && all.size < most) idle.add(start())
    return child
  }

  function start(): SandboxedChild<Job, Result> {
    const child = startChild<Job, Result>(program, limits)
    all.add(child)
    return child
  }

  return {
    lease() {
      let child: SandboxedChild<Job, Result> | undefined
      let costMs = 0
      let hasLost = false
      const run: RunJob<Job, Result> = async (job) => {
        if (closed) throw shuttingDown()
        child ??= take()
        const { outcome, cpuMs } = await child.run(job)
        costMs += cpuMs
        if (child.alive()) return outcome
        all.delete(child)
        child = undefined
        hasLost = true
        if (closed) throw shuttingDown()
        return outcome
      }
      return {
        run,
        /**
         * Resolves with the CPU time of the task. A task that killed a child also pays for the next one: its start is part of
         * the cost, and the slot stays occupied until then.
         */
        async release(): Promise<number> {
          if (!child && hasLost && !closed) {
            child = start()
            costMs += await child.ready.catch(() => 0)
          }
          if (child?.alive()) idle.add(child)
          else if (child) all.delete(child)
          return costMs
        },
      }
    },
    async close() {
      closed = true
      idle.close()
      await Promise.all([...all].map((child) => child.end()))
    },
  }
}

/** Children without a job. Each ends after a while. */
function openIdleChildren<
  Child extends Pick<SandboxedChild<object, { kind: string }>, 'alive' | 'end'>,
>(idleMs: number, gone: (child: Child) => void) {
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
