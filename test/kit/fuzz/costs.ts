import type { Finding } from './fuzz.ts'
import { minimise } from './mutate.ts'

/** Below 256 bytes, sizes do not matter. */
const MIN_CLASS = 8
const MAX_SAMPLES = 2_000
const MIN_SAMPLES = 50
const SUSPECTS = 5
/** Cheaper ones are as cheap as starting the clock. */
const MIN_MS = 0.01
const EXACT_MS = 10
const MAX_SLOW_TRIES = 300

/** Inputs of one size: from a power of two to the next. */
interface SizeClass {
  samples: number[]
  suspects: { input: Buffer; number: number; ms: number }[]
}

/**
 * Compares what inputs cost with the median of their size. Suspects are run again at the end, three times: the least counts,
 * without the compiler, the garbage collector and other programs.
 */
export function openCosts(run: (input: Buffer) => Promise<unknown>, limit: number | undefined) {
  const classes = new Map<number, SizeClass>()
  const classOf = (input: Buffer) => {
    const key = Math.max(MIN_CLASS, 32 - Math.clz32(input.length))
    const found = classes.get(key) ?? { samples: [], suspects: [] }
    classes.set(key, found)
    return found
  }
  const median = ({ samples }: SizeClass) =>
    samples.toSorted((one, other) => one - other)[Math.floor(samples.length / 2)] ?? 0

  async function measure(input: Buffer): Promise<number> {
    let least = Number.POSITIVE_INFINITY
    for (let round = 0; round < 3; round += 1) {
      const [start, cpu] = [performance.now(), process.threadCpuUsage()]
      await run(input)
      const ms = performance.now() - start
      const { user, system } = process.threadCpuUsage(cpu)
      // Other programs only interrupt long ones; of short ones, the CPU time is not exact.
      least = Math.min(least, ms < EXACT_MS ? ms : Math.max(EXACT_MS, (user + system) / 1_000))
    }
    return least
  }

  return {
    add(input: Buffer, number: number, ms: number): void {
      const { samples, suspects } = classOf(input)
      if (samples.length < MAX_SAMPLES) samples.push(ms)
      else samples[number % MAX_SAMPLES] = ms
      if (suspects.length === SUSPECTS && ms <= (suspects[0]?.ms ?? 0)) return
      suspects.push({ input, number, ms })
      suspects.sort((one, other) => one.ms - other.ms)
      if (suspects.length > SUSPECTS) suspects.shift()
    },
    async judge() {
      const slow: Finding[] = []
      let [maxCost, maxMs] = [0, 0]
      const medians = new Map([...classes.values()].map((one) => [one, median(one)]))
      const costOf = (input: Buffer, ms: number) => {
        const found = classOf(input)
        // Of few inputs, the median says nothing.
        return found.samples.length < MIN_SAMPLES
          ? 0
          : ms / Math.max(medians.get(found) ?? 0, MIN_MS)
      }
      for (const { suspects } of classes.values()) {
        for (const { input, number } of suspects) {
          const ms = await measure(input)
          const cost = costOf(input, ms)
          maxMs = Math.max(maxMs, ms)
          maxCost = Math.max(maxCost, cost)
          if (limit === undefined || cost <= limit) continue
          const isSlow = async (other: Buffer) => costOf(other, await measure(other)) > limit
          const smallest = await minimise(input, isSlow, MAX_SLOW_TRIES)
          const message = `${ms.toFixed(1)} ms, ${cost.toFixed(0)} times the median of its size`
          slow.push({ kind: 'slow', number, input: smallest, message })
        }
      }
      return { slow: slow.slice(0, SUSPECTS), maxCost, maxMs }
    },
  }
}
