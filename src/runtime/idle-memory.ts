import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const CHECK_MS = 10_000
// Of the time. A collection takes 10 to 40 ms, which a busy thread should not lose.
const IDLE_UTILIZATION = 0.05
const WORTH_BYTES = 4 * 1024 * 1024

/** Whether a thread that used this share of the time should collect garbage. */
export function shouldCollect({ utilization, grownBytes }: Record<Measured, number>): boolean {
  return utilization < IDLE_UTILIZATION && grownBytes >= WORTH_BYTES
}

type Measured = 'utilization' | 'grownBytes'

/**
 * Returns memory to the system when this thread has nothing to do. V8 collects garbage when it needs room, so that a thread keeps
 * what a start or a burst left behind for as long as it is idle.
 */
export function releaseMemoryWhenIdle(): void {
  let keptBytes = 0
  let last = performance.eventLoopUtilization()
  const check = () => {
    const { utilization } = performance.eventLoopUtilization(last)
    last = performance.eventLoopUtilization()
    if (!shouldCollect({ utilization, grownBytes: usedBytes() - keptBytes })) return
    collectAll()
    keptBytes = usedBytes()
  }
  setInterval(check, CHECK_MS).unref()
}

function usedBytes(): number {
  const { total_physical_size: heap, external_memory: buffers } = getHeapStatistics()
  return heap + buffers
}

/** A last resort also shrinks the space for young objects and drops code that has not run lately; a usual one keeps both. */
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
