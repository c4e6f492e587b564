import assert from 'node:assert/strict'
import { test } from 'vitest'
import { StoreAway } from '../../core/problem.ts'
import { outageReporter } from './outage.ts'

test('the log hears of an outage once and why, and of the next one again', () => {
  let now = 0
  const lines: unknown[] = []
  const tell = outageReporter({ warn: ({ reason }) => lines.push(reason) }, () => now)
  const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
  for (let met = 0; met < 100; met += 1) {
    tell(new StoreAway(new Error('the server starts up')))
    now += 20_000
  }
  assert.deepEqual(lines, ['the server starts up'])
  now += 60_000
  tell(new StoreAway(refused))
  assert.deepEqual(lines.slice(1), ['ECONNREFUSED'])
})
