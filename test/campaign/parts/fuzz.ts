import { fuzzInBrowser } from '../../kit/fuzz/browser.ts'
import { describeFinding, fuzz } from '../../kit/fuzz/fuzz.ts'
import type { Part } from '../part.ts'

/** Hostile inputs, by target (test/kit/fuzz/targets): ten million in all, as many of each as its speed allows. */
const GOALS = {
  mime: 1_000_000,
  headers: 1_500_000,
  codes: 500_000,
  html: 500_000,
  addresses: 2_000_000,
  smtp: 1_500_000,
  bodies: 1_000_000,
  stripe: 1_000_000,
  filters: 750_000,
  acme: 200_000,
  // Over sockets.
  'smtp-socket': 20_000,
  http: 10_000,
  webhooks: 20_000,
  imap: 5_000,
  dns: 5_000,
  // On both engines.
  engines: 20_000,
}
const BATCHES = 20

/** The last part, in Chromium. */
const SANITISER: Part = {
  name: 'fuzz-sanitiser',
  unit: 'inputs',
  goal: 20_000,
  quickGoal: 200,
  batch: 1_000,
  async run({ count, done }) {
    const { inputs, findings, control } = await fuzzInBrowser({ first: done, count })
    const shown = findings.map((finding) => describeFinding('fuzz-sanitiser', finding))
    if (control === 0) shown.push('the control: no script ran without the sanitizer')
    return { done: inputs, counts: { 'scripts without the sanitizer': control }, findings: shown }
  },
}

export const FUZZ_PARTS: readonly Part[] = [
  ...Object.entries(GOALS).map(([name, goal]) => ({
    name: `fuzz-${name}`,
    unit: 'inputs',
    goal,
    quickGoal: Math.min(goal, 200),
    batch: goal / BATCHES,
    async run({ count, done }: { count: number; done: number }) {
      const target = new URL(`../../kit/fuzz/targets/${name}.ts`, import.meta.url)
      const { inputs, findings, maxCost, maxMs } = await fuzz(target, { first: done, count })
      return {
        done: inputs,
        counts: {},
        figures: { 'largest cost in medians': maxCost, 'slowest ms': maxMs },
        findings: findings.map((finding) => describeFinding(`fuzz-${name}`, finding)),
      }
    },
  })),
  SANITISER,
]
