import { fuzzInBrowser } from '../../kit/fuzz/browser.ts'
import { describeFinding, fuzz, type Outcome } from '../../kit/fuzz/fuzz.ts'
import type { Batch, Part } from '../part.ts'

/** Hostile inputs, by target (test/kit/fuzz/targets): ten million in all, as many of each as its speed allows. */
const GOALS = {
  mime: 1_000_000,
  headers: 1_500_000,
  codes: 500_000,
  html: 500_000,
  addresses: 1_800_000,
  'sender-auth': 200_000,
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
const BATCHES = 10

/** In Chromium. */
const SANITISER: Part = {
  name: 'fuzz-sanitiser',
  unit: 'inputs',
  goal: 20_000,
  quickGoal: 200,
  batch: 2_000,
  async run({ count, done }) {
    const outcome = await fuzzInBrowser('fuzz-sanitiser', { first: done, count })
    const batch = batchOf('fuzz-sanitiser', outcome)
    const { control } = outcome
    if (control === 0) batch.findings.push('the control: no script ran without the sanitizer')
    return { ...batch, counts: { ...batch.counts, 'scripts without the sanitizer': control } }
  },
}

export const FUZZ_PARTS: readonly Part[] = [
  ...Object.entries(GOALS).map(
    ([name, goal]): Part => ({
      name: `fuzz-${name}`,
      unit: 'inputs',
      goal,
      quickGoal: Math.min(goal, 200),
      batch: goal / BATCHES,
      async run({ count, done }) {
        const target = new URL(`../../kit/fuzz/targets/${name}.ts`, import.meta.url)
        return batchOf(`fuzz-${name}`, await fuzz(target, { first: done, count }))
      },
    }),
  ),
  SANITISER,
]

/** With fewer accepted ones, the code behind the first parser would not be attacked. */
const MIN_ACCEPTED = 0.02

export function batchOf(name: string, outcome: Outcome): Batch {
  const { inputs, accepted, findings, maxCost, maxMs } = outcome
  const isRefused = accepted < MIN_ACCEPTED * inputs
  return {
    done: inputs,
    counts: { accepted },
    figures: { 'largest cost in medians': maxCost, 'slowest ms': maxMs },
    findings: [
      ...findings.map((finding) => describeFinding(name, finding)),
      ...(isRefused ? [`${name}: only ${accepted} of ${inputs} inputs were accepted`] : []),
    ],
  }
}
