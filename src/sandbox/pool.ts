import {
  type JobRequest,
  openScheduler,
  type SchedulerOptions,
  shuttingDown,
} from '../core/fair-scheduler.ts'
import {
  type ChildLost,
  type ChildProgram,
  type JobLimits,
  type SandboxedChild,
  startChild,
} from './process.ts'

/** Sends a job to the child that the task was given. */
export type RunJob<Job, Answer> = (job: Job) => Promise<Answer | ChildLost>
type Task<Job, Answer, T> = (run: RunJob<Job, Answer>) => Promise<T>

/** Child processes that work on mails: whatever a mail does to its reader, it does not do it to the service. */
export interface ProcessPool<Job, Answer> {
  /** Runs the task when it is its owner's turn, with a child of its own. Requests for the same key share one run, see FairScheduler. */
  use<T>(key: unknown, request: JobRequest, task: Task<Job, Answer, T>): Promise<T>
  close(): Promise<void>
}

interface PoolOptions extends ChildProgram, Omit<SchedulerOptions, 'slots'> {
  children: number
  limits: Partial<JobLimits>
}

const LIMITS: JobLimits = { startMs: 30_000, cpuMs: 1_000, wallMs: 30_000, memoryMb: 512 }

/** Children are started when there is work for them, and stay. What a job costs is its CPU time. */
export function openProcessPool<Job extends object, Answer extends { kind: string }>({
  children,
  limits,
  maxWaiting,
  maxWaitingPerKey,
  refusal,
  ...program
}: PoolOptions): ProcessPool<Job, Answer> {
  const workers = openChildren<Job, Answer>(program, { ...LIMITS, ...limits }, children)
  const scheduler = openScheduler({ slots: children, maxWaiting, maxWaitingPerKey, refusal })
  return {
    use: (key, request, task) =>
      scheduler.run(key, request, () => {
        const { run, release } = workers.lease()
        const result = task(run)
        return { result, cost: result.then(release, release) }
      }),
    async close() {
      scheduler.close()
      await workers.close()
    },
  }
}

/** The children, lent to one task at a time. */
function openChildren<Job extends object, Answer extends { kind: string }>(
  program: ChildProgram,
  limits: JobLimits,
  most: number,
) {
  const all = new Set<SandboxedChild<Job, Answer>>()
  let idle: SandboxedChild<Job, Answer>[] = []
  let closed = false

  function take(): SandboxedChild<Job, Answer> {
    idle = idle.filter((child) => child.alive() || !all.delete(child))
    const child = idle.pop() ?? start()
    // The next one is made ready meanwhile, so that nobody waits for a start because of somebody else's job.
    if (idle.length === 0 && all.size < most) idle.push(start())
    return child
  }

  function start(): SandboxedChild<Job, Answer> {
    const child = startChild<Job, Answer>(program, limits)
    all.add(child)
    return child
  }

  return {
    lease() {
      let child: SandboxedChild<Job, Answer> | undefined
      let costMs = 0
      let hasLost = false
      const run: RunJob<Job, Answer> = async (job) => {
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
         * Resolves with the CPU time that the task has cost. Whose task has ended a child also pays for the next: its start is
         * part of the cost, and until then the task's place is not free.
         */
        async release(): Promise<number> {
          if (!child && hasLost && !closed) {
            child = start()
            costMs += await child.ready.catch(() => 0)
          }
          if (child?.alive()) idle.push(child)
          else if (child) all.delete(child)
          return costMs
        },
      }
    },
    async close() {
      closed = true
      await Promise.all([...all].map((child) => child.end()))
    },
  }
}
