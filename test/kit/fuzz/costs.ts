import type { Finding } from './fuzz.ts'
import { minimise } from './mutate.ts'

/** The most that an input may cost, in medians of its size. */
const MAX_COST = 20
/** Below 256 bytes, sizes do not matter. */
const MIN_CLASS = 8
const MAX_SAMPLES = 2_000
const MIN_SAMPLES = 50
const SUSPECTS = 5
const ROUNDS = 5
/** Cheaper ones are as cheap as starting the clock. */
const MIN_MS = 0.01
const MAX_TRIES = 300

/** Inputs of one size: from a power of two to the next. */
interface SizeClass {
  samples: number[]
  /** The costliest, from the cheapest of them on. */
  suspects: { input: Buffer; number: number; ms: number }[]
}

/**
 * Compares what inputs cost with the median of their size. What seems to cost much is measured again, and the least counts: without
 * the compiler and the garbage collector, and, if CPU time can be measured, without other programs on a busy machine.
 */
export function openCosts(
  measure: (input: Buffer) => Promise<number>,
  cpuMsOf?: (input: Buffer) => Promise<number>,
) {
  const classes = new Map<number, SizeClass>()
  const classOf = (input: Buffer) => {
    const key = Math.max(MIN_CLASS, 32 - Math.clz32(input.length))
    const found = classes.get(key) ?? { samples: [], suspects: [] }
    classes.set(key, found)
    return found
  }

  async function leastOf(input: Buffer): Promise<number> {
    let least = Number.POSITIVE_INFINITY
    for (let round = 0; round < ROUNDS; round += 1) least = Math.min(least, await measure(input))
    return least
  }

  return {
    async add(input: Buffer, number: number, ms: number): Promise<void> {
      const { samples, suspects } = classOf(input)
      if (samples.length < MAX_SAMPLES) samples.push(ms)
      else samples[number % MAX_SAMPLES] = ms
      const isSuspect = (cost: number) =>
        suspects.length < SUSPECTS || cost > (suspects[0]?.ms ?? 0)
      if (!isSuspect(ms)) return
      const least = Math.min(ms, await leastOf(input))
      if (!isSuspect(least)) return
      suspects.push({ input, number, ms: least })
      suspects.sort((one, other) => one.ms - other.ms)
      if (suspects.length > SUSPECTS) suspects.shift()
    },
    async judge() {
      const slow: Finding[] = []
      let [maxCost, maxMs] = [0, 0]
      const medians = new Map([...classes.values()].map((one) => [one, median(one.samples)]))
      const costOf = (input: Buffer, ms: number) => {
        const found = classOf(input)
        // Of few inputs, the median says nothing.
        if (found.samples.length < MIN_SAMPLES) return 0
        return ms / Math.max(medians.get(found) ?? 0, MIN_MS)
      }
      const confirmedMsOf = async (input: Buffer) => {
        const ms = await leastOf(input)
        if (cpuMsOf === undefined || costOf(input, ms) <= MAX_COST) return ms
        return Math.min(ms, await cpuMsOf(input))
      }
      for (const { input, number } of [...classes.values()].flatMap((one) => one.suspects)) {
        const ms = await confirmedMsOf(input)
        const cost = costOf(input, ms)
        maxMs = Math.max(maxMs, ms)
        maxCost = Math.max(maxCost, cost)
        if (cost <= MAX_COST || slow.length === SUSPECTS) continue
        const isSlow = async (other: Buffer) => costOf(other, await confirmedMsOf(other)) > MAX_COST
        const smallest = await minimise(input, isSlow, MAX_TRIES)
        const message = `${ms.toFixed(1)} ms, ${cost.toFixed(0)} times the median of its size`
        slow.push({ kind: 'slow', number, input: smallest, message })
      }
      return { slow, maxCost, maxMs }
    },
  }
}

function median(samples: readonly number[]): number {
  return samples.toSorted((one, other) => one - other)[Math.floor(samples.length / 2)] ?? 0
}
