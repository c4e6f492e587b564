import { describeFinding, fuzz } from '../../kit/fuzz/fuzz.ts'
import type { Part } from '../part.ts'

/** Hostile inputs, by target (test/kit/fuzz/targets): ten million in all, as many of each as its speed allows. */
const GOALS = {
  mime: 1_000_000,
  headers: 1_000_000,
  codes: 500_000,
  html: 1_000_000,
  addresses: 1_500_000,
  smtp: 1_500_000,
  bodies: 1_000_000,
  stripe: 1_000_000,
  acme: 200_000,
  webhooks: 50_000,
}

export const FUZZ_PARTS: readonly Part[] = Object.entries(GOALS).map(([name, goal]) => ({
  name: `fuzz-${name}`,
  unit: 'inputs',
  goal,
  quickGoal: goal / 1_000,
  batch: Math.max(1_000, goal / 20),
  async run({ count, done }) {
    const target = new URL(`../../kit/fuzz/targets/${name}.ts`, import.meta.url)
    const { inputs, findings, maxCost, maxMs } = await fuzz(target, { first: done, count })
    return {
      done: inputs,
      counts: {},
      figures: { 'largest cost in medians': maxCost, 'slowest ms': maxMs },
      findings: findings.map((finding) => describeFinding(`fuzz-${name}`, finding)),
    }
  },
}))
