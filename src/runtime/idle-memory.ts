import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const CHECK_MS = 10_000
// Of the time. A collection takes 10 to 40 ms, which a busy thread should not lose.
const IDLE_UTILIZATION = 0.05
// A last resort also drops the code that V8 has optimized, and it takes ten seconds of full load to get it back: a thread that
// worked long enough to have such code keeps it for five minutes.
const OPTIMIZED_AFTER_MS = 2_000
const IDLE_CHECKS = 30
const WORTH_BYTES = 4 * 1024 * 1024

/** Whether to collect garbage: after so many idle checks in a row, and so much work since the last collection, which kept `keptBytes`. */
export function shouldCollect({ idleChecks, workedMs, keptBytes, usedBytes }: Measured): boolean {
  const required = workedMs < OPTIMIZED_AFTER_MS ? 1 : IDLE_CHECKS
  return idleChecks >= required && usedBytes - keptBytes >= WORTH_BYTES
}

type Measured = Record<'idleChecks' | 'workedMs' | 'keptBytes' | 'usedBytes', number>

/**
 * Returns memory to the system when this thread has nothing to do. V8 collects garbage when it needs room, so that a thread keeps
 * what a start or a burst left behind for as long as it is idle.
 */
export function releaseMemoryWhenIdle(): void {
  let [keptBytes, idleChecks] = [0, 0]
  let last = performance.eventLoopUtilization()
  let workedBefore = last.active
  const check = () => {
    const { utilization } = performance.eventLoopUtilization(last)
    last = performance.eventLoopUtilization()
    idleChecks = utilization < IDLE_UTILIZATION ? idleChecks + 1 : 0
    const workedMs = last.active - workedBefore
    if (!shouldCollect({ idleChecks, workedMs, keptBytes, usedBytes: bytesInUse() })) return
    collectAll()
    keptBytes = bytesInUse()
    workedBefore = last.active
  }
  setInterval(check, CHECK_MS).unref()
}

function bytesInUse(): number {
  const { total_physical_size: heap, external_memory: buffers } = getHeapStatistics()
  return heap + buffers
}

/** A last resort also shrinks the space for young objects and drops code; a usual one keeps both. */
function collectAll(): void {
  collect ??= exposeCollect()
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void
let collect: Collect | undefined

/** Node has no function for it, unless it is started with this flag; a context created after it is set has one. */
function exposeCollect(): Collect {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as Collect
}
