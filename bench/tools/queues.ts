import type { Cost } from './capacity.ts'

// A simulation of queues: what a request waits for while it is served by a node, Redis and PostgreSQL one after another.
// Requests are independent, and so are their service times, exponential around the measured CPU time. Each core of a node is a
// queue of its own, because a connection stays with its thread; PostgreSQL's cores share one; Redis has one core. A commit waits
// for a flush of the WAL, which includes all commits that have come before it started.

export interface Demand {
  name: string
  perSecond: number
  cost: Pick<Cost, 'nodeCpu' | 'postgresCpu' | 'redisCpu' | 'transactions'>
}

export interface Servers {
  nodes: number
  nodeCores: number
  postgresCores: number
  flushSeconds: number
}

interface Job {
  demand: Demand
  start: number
  /** When it is done at the last station. */
  time: number
}

/** Seconds of each request of `seconds`, by name. */
export function simulate(
  demands: readonly Demand[],
  servers: Servers,
  seconds: number,
): Map<string, number[]> {
  const random = seeded(1)
  const exponential = (mean: number) => -Math.log(1 - random()) * mean
  const jobs = demands.flatMap((demand) => {
    const arrivals: Job[] = []
    for (let time = 0; time < seconds; ) {
      time += exponential(1 / demand.perSecond)
      arrivals.push({ demand, start: time, time })
    }
    return arrivals
  })
  const cpu = (name: 'nodeCpu' | 'postgresCpu' | 'redisCpu') => (job: Job) =>
    exponential(Math.max(0, job.demand.cost[name]))

  const cores: Job[][] = Array.from({ length: servers.nodes * servers.nodeCores }, () => [])
  for (const job of jobs) cores[Math.floor(random() * cores.length)]?.push(job)
  for (const core of cores) serve(core, 1, cpu('nodeCpu'))
  serve(jobs, 1, cpu('redisCpu'))
  serve(jobs, servers.postgresCores, cpu('postgresCpu'))
  flush(
    jobs.filter(({ demand }) => random() < demand.cost.transactions),
    servers.flushSeconds,
  )
  const result = new Map<string, number[]>()
  for (const { demand, start, time } of jobs) {
    const times = result.get(demand.name) ?? []
    times.push(time - start)
    result.set(demand.name, times)
  }
  return result
}

/** In the order in which they come, by whichever server is free first. */
function serve(jobs: Job[], servers: number, secondsOf: (job: Job) => number): void {
  const free = Array.from({ length: servers }, () => 0)
  for (const job of jobs.sort(byTime)) {
    const first = free.indexOf(Math.min(...free))
    job.time = Math.max(job.time, free[first] ?? 0) + secondsOf(job)
    free[first] = job.time
  }
}

function flush(jobs: Job[], seconds: number): void {
  let [started, ended] = [0, 0]
  for (const job of jobs.sort(byTime)) {
    if (job.time > started) {
      started = Math.max(job.time, ended)
      ended = started + seconds
    }
    job.time = ended
  }
}

const byTime = (a: Job, b: Job) => a.time - b.time

/** Numbers from 0 to 1, the same in each run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
