import assert from 'node:assert/strict'
import { test } from 'vitest'
import { Problem, StoreUnavailable } from '../../core/problem.ts'
import { logFault, outageReporter } from './outage.ts'

test('the log hears of an outage once and why, and of the next one again', () => {
  let now = 0
  const lines: unknown[] = []
  const tell = outageReporter({ warn: ({ reason }) => lines.push(reason) }, () => now)
  const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
  for (let met = 0; met < 100; met += 1) {
    tell(new StoreUnavailable(new Error('the server starts up')))
    now += 20_000
  }
  assert.deepEqual(lines, ['the server starts up'])
  now += 60_000
  tell(new StoreUnavailable(refused))
  assert.deepEqual(lines.slice(1), ['ECONNREFUSED'])
})

const cause = new Error('the cause')
const worded = Object.assign(new Problem('overloaded', 'Try again later.'), { cause })
for (const [what, thrown, told] of [
  ['of a fault is told', cause, 'the cause'],
  ['of what is no error is told', 'odd', 'odd'],
  ['of a refusal its cause is told', worded, 'the cause'],
  ['of one without a cause itself is told', new Problem('overloaded', 'Full.'), 'Full.'],
  ['of a store that is away nothing is told', new StoreUnavailable(cause), undefined],
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
