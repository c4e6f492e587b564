import { expect, test } from 'vitest'
import { Problem, StoreUnavailable } from '../problem.ts'
import { logFault, outageReporter } from './outage.ts'

test('an outage is logged once with its reason, and the next one again', () => {
  let now = 0
  const logged: unknown[] = []
  const report = outageReporter({ warn: ({ reason }) => logged.push(reason) }, () => now)
  const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
  for (let failures = 0; failures < 100; failures += 1) {
    report(new StoreUnavailable(new Error('the server starts up')))
    now += 20_000
  }
  expect(logged).toStrictEqual(['the server starts up'])
  now += 60_000
  report(new StoreUnavailable(refused))
  expect(logged.slice(1)).toStrictEqual(['ECONNREFUSED'])
})

const cause = new Error('the cause')
const problem = Object.assign(new Problem('overloaded', 'Try again later.'), { cause })
for (const [name, thrown, expected] of [
  ['an error is logged', cause, 'the cause'],
  ['a thrown value that is not an error is logged', 'odd', 'odd'],
  ['a problem with a cause is logged as its cause', problem, 'the cause'],
  ['a problem without a cause is logged itself', new Problem('overloaded', 'Full.'), 'Full.'],
  ['an unavailable store is not logged here', new StoreUnavailable(cause), undefined],
] as const) {
  test(name, () => {
    const logged: unknown[] = []
    const log = { error: (facts: Record<string, unknown>) => logged.push(facts) }
    logFault(log, thrown, 'it failed', { lease: 'sweep' })
    const facts = logged.map((entry) => entry as { err: Error; lease: string })
    expect(facts.map(({ err, lease }) => [lease, err.message])).toStrictEqual(
      expected === undefined ? [] : [['sweep', expected]],
    )
  })
}
