import { setTimeout as pause } from 'node:timers/promises'
import { acquireLease, DEFAULT_TIMING, type LeaseDeps, type LeaseTiming } from './lease.ts'
import { logFault } from './outage.ts'

/** Runs on one node at a time. */
interface Task {
  /** Name of its lease. */
  name: string
  /** Until the signal is aborted; resolves when it has stopped completely. */
  run(stop: AbortSignal): Promise<void>
}

interface Deps extends LeaseDeps {
  /** The tasks that should run somewhere. */
  list(): Promise<readonly Task[]>
  ended: AbortSignal
  timing?: SupervisionTiming
}

export interface SupervisionTiming extends LeaseTiming {
  /** How soon a change of the list takes effect. */
  refreshMs: number
  /** Between two starts. */
  staggerMs: number
}

export const SUPERVISION_TIMING: SupervisionTiming = {
  ...DEFAULT_TIMING,
  refreshMs: 1_000,
  staggerMs: 250,
}
// A node with this many tasks takes new ones at half the rate of a node with none.
const MANY_TASKS = 8

/** Runs those tasks whose lease this node gets, starting one after the other, and stops those that are no longer listed. */
export async function superviseTasks(deps: Deps): Promise<void> {
  const { ended, log, timing = SUPERVISION_TIMING } = deps
  /** Includes tasks that are stopping: none is started again before that. */
  const leased = new Map<string, { end: AbortController; done: Promise<void> }>()
  /** Leased by other nodes, and when to try again. */
  const leasedElsewhere = new Map<string, number>()

  async function take({ name, run }: Task): Promise<void> {
    const lease = await acquireLease(deps, name)
    if (!lease) {
      leasedElsewhere.set(name, performance.now() + timing.retryMs)
      return
    }
    leasedElsewhere.delete(name)
    const end = new AbortController()
    const done = lease
      .runWhileHeld(run, end.signal)
      .catch((error: unknown) => {
        logFault(log, error, 'a task under a lease failed; retrying', { lease: name })
      })
      .finally(() => leased.delete(name))
    leased.set(name, { end, done })
    await rest(staggerMs())
  }

  /** Nodes that start at the same time alternate; with several nodes, those with fewer tasks go first. */
  const staggerMs = () =>
    leasedElsewhere.size === 0
      ? timing.staggerMs
      : timing.staggerMs * (1 + Math.min(leased.size / MANY_TASKS, 1))

  function release(isListed: (name: string) => boolean): void {
    for (const [name, { end }] of leased) if (!isListed(name)) end.abort()
    for (const name of leasedElsewhere.keys()) if (!isListed(name)) leasedElsewhere.delete(name)
  }

  async function follow(): Promise<void> {
    const tasks = await deps.list()
    release((name) => tasks.some((task) => task.name === name))
    const isDue = (name: string) => performance.now() >= (leasedElsewhere.get(name) ?? 0)
    const free = tasks.filter(({ name }) => !leased.has(name) && isDue(name))
    for (const task of free) if (!ended.aborted) await take(task)
  }
  const rest = (ms: number) => pause(ms, undefined, { signal: ended }).catch(() => {})

  while (!ended.aborted) {
    try {
      await follow()
    } catch (error) {
      logFault(log, error, 'listing or starting tasks failed; retrying')
    }
    await rest(timing.refreshMs)
  }
  for (const { end } of leased.values()) end.abort()
  await Promise.all([...leased.values()].map(({ done }) => done))
}
