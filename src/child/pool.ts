import { Problem } from '../core/problem.ts'
import {
  type ChildProgram,
  type JobLimits,
  type LimitedChild,
  type Lost,
  startChild,
} from './limited-child.ts'

/** Child processes that work on mails: whatever a mail does to its reader, it does not do it to the service. */
export interface Pool<Job, Answer> {
  /** Rejects when too much waits, when the pool is closed, and when no child could be started: never by the job's fault. */
  run(job: Job): Promise<Answer | Lost>
  close(): Promise<void>
}

export interface PoolOptions<Job> extends ChildProgram {
  children: number
  limits: Partial<JobLimits>
  maxWaiting: number
  maxWaitingBytes: number
  bytesOf(job: Job): number
}

interface Waiting<Job, Answer> {
  job: Job
  resolve(outcome: Answer | Lost): void
  reject(fault: unknown): void
}

const LIMITS: JobLimits = { startMs: 30_000, cpuMs: 1_000, wallMs: 30_000, memoryMb: 512 }

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
  const waiting: Waiting<Job, Answer>[] = []
  let waitingBytes = 0
  let closed = false

  function next(): void {
    idle = idle.filter((child) => child.alive())
    const child =
      idle.pop() ?? (busy.size < children ? startChild<Job, Answer>(program, jobLimits) : undefined)
    if (!child) return
    const first = waiting.shift()
    if (!first) {
      idle.push(child)
      return
    }
    waitingBytes -= bytesOf(first.job)
    busy.add(child)
    void child
      .run(first.job)
      .then(first.resolve, first.reject)
      .finally(() => {
        busy.delete(child)
        if (child.alive()) idle.push(child)
        if (waiting.length > 0) next()
      })
  }

  return {
    async run(job) {
      if (closed) throw stopping()
      const bytes = bytesOf(job)
      if (waiting.length >= maxWaiting || waitingBytes + bytes > maxWaitingBytes) {
        throw new Problem('overloaded', 'Too many mails are waiting to be read.', 1)
      }
      const outcome = await new Promise<Answer | Lost>((resolve, reject) => {
        waiting.push({ job, resolve, reject })
        waitingBytes += bytes
        next()
      }).catch((fault) => {
        throw closed ? stopping() : fault
      })
      if (closed && outcome.kind === 'lost') throw stopping()
      return outcome
    },
    async close() {
      closed = true
      for (const { reject } of waiting.splice(0)) reject(stopping())
      await Promise.all([...busy, ...idle].map((child) => child.end()))
    },
  }
}

function stopping(): Problem {
  return new Problem('shutting_down', 'The service is stopping.', 1)
}
