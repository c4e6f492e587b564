import assert from 'node:assert/strict'
import { test } from 'vitest'
import { Problem, StoreAway } from '../../core/problem.ts'
import { logFault } from './outage.ts'

const cause = new Error('the cause')
const worded = Object.assign(new Problem('overloaded', 'Try again later.'), { cause })
for (const [what, thrown, told] of [
  ['of a fault is told', cause, 'the cause'],
  ['of what is no error is told', 'odd', 'odd'],
  ['of a refusal its cause is told', worded, 'the cause'],
  ['of one without a cause itself is told', new Problem('overloaded', 'Full.'), 'Full.'],
  ['of a store that is away nothing is told', new StoreAway(cause), undefined],
] as const) {
  test(what, () => {
    const lines: unknown[] = []
    const log = { error: (facts: Record<string, unknown>) => lines.push(facts) }
    logFault(log, thrown, 'it failed', { lease: 'sweep' })
    const facts = lines.map((line) => line as { err: Error; lease: string })
    assert.deepEqual(
      facts.map(({ err, lease }) => [lease, err.message]),
      told === undefined ? [] : [['sweep', told]],
    )
  })
}
