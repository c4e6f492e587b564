import { Problem } from '../core/problem.ts'
import {
  type ChildProgram,
  type JobLimits,
  type LimitedChild,
  type Lost,
  startChild,
} from './limited-child.ts'
import { type LineLimits, openLine } from './line.ts'

/** Of a job that nobody waits for yet: it lets all others go first, and leaves them a child, until it is hastened. */
export type JobName = number

/** Child processes that work on mails: whatever a mail does to its reader, it does not do it to the service. */
export interface Pool<Job, Answer> {
  /** Rejects when too much waits, when the pool is closed, and when no child could be started: never by the job's fault. */
  run(job: Job, later?: JobName): Promise<Answer | Lost>
  /** Somebody waits by now for what was to be done later. */
  hasten(name: JobName): void
  close(): Promise<void>
}

interface PoolOptions<Job> extends ChildProgram, LineLimits {
  children: number
  limits: Partial<JobLimits>
  bytesOf(job: Job): number
}

interface Waiting<Job, Answer> {
  job: Job
  bytes: number
  later: JobName | undefined
  resolve(outcome: Answer | Lost): void
  reject(fault: unknown): void
}

const LIMITS: JobLimits = { startMs: 30_000, cpuMs: 1_000, wallMs: 30_000, memoryMb: 512 }
/** Of what is done later. */
const LATER: LineLimits = { maxWaiting: 32, maxWaitingBytes: 64 * 1024 * 1024 }

/** Children are started when there is work for them, and stay. */
export function openPool<Job extends object, Answer extends { kind: string }>({
  children,
  limits,
  maxWaiting,
  maxWaitingBytes,
  bytesOf,
  ...program
}: PoolOptions<Job>): Pool<Job, Answer> {
  const jobLimits = { ...LIMITS, ...limits }
  const busy = new Set<LimitedChild<Job, Answer>>()
  let idle: LimitedChild<Job, Answer>[] = []
  const line = openLine<Waiting<Job, Answer>>({ maxWaiting, maxWaitingBytes })
  const laterLine = openLine<Waiting<Job, Answer>>(LATER)
  const mostLater = Math.max(1, children - 1)
  let busyLater = 0
  let closed = false

  function next(): void {
    idle = idle.filter((child) => child.alive())
    if (idle.length === 0 && busy.size >= children) return
    const entry = line.shift() ?? (busyLater < mostLater ? laterLine.shift() : undefined)
    if (!entry) return
    const child = idle.pop() ?? startChild<Job, Answer>(program, jobLimits)
    const isLater = entry.later !== undefined
    busy.add(child)
    if (isLater) busyLater += 1
    void child
      .run(entry.job)
      .then(entry.resolve, entry.reject)
      .finally(() => {
        busy.delete(child)
        if (isLater) busyLater -= 1
        if (child.alive()) idle.push(child)
        next()
      })
  }

  return {
    async run(job, later) {
      if (closed) throw stopping()
      const outcome = await new Promise<Answer | Lost>((resolve, reject) => {
        const entry = { job, bytes: bytesOf(job), later, resolve, reject }
        if (later === undefined) line.join(entry)
        else laterLine.join(entry)
        next()
      }).catch((fault) => {
        throw closed ? stopping() : fault
      })
      if (closed && outcome.kind === 'lost') throw stopping()
      return outcome
    },
    hasten(name) {
      for (const entry of laterLine.takeWhere(({ later }) => later === name)) {
        line.push({ ...entry, later: undefined })
      }
      next()
    },
    async close() {
      closed = true
      for (const each of [line, laterLine]) {
        for (const { reject } of each.takeWhere(() => true)) reject(stopping())
      }
      await Promise.all([...busy, ...idle].map((child) => child.end()))
    },
  }
}

function stopping(): Problem {
  return new Problem('shutting_down', 'The service is stopping.', 1)
}
