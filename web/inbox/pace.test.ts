import assert from 'node:assert/strict'
import { test } from 'vitest'
import { pacer } from './pace.ts'

test('a burst goes at once, the rest one after the other', () => {
  const wait = pacer({ burst: 3, perSecond: 10 })
  assert.deepEqual(
    [0, 0, 0, 0, 0].map((now) => wait(now)),
    [0, 0, 0, 100, 200],
  )
})

test('who has been quiet may go at once again, but no more than a burst', () => {
  const wait = pacer({ burst: 2, perSecond: 10 })
  assert.deepEqual(
    [0, 0, 60_000, 60_000, 60_000].map((now) => wait(now)),
    [0, 0, 0, 0, 100],
  )
})

test('no second has more requests than a burst and its share', () => {
  const pace = { burst: 100, perSecond: 25 }
  const wait = pacer(pace)
  const times = Array.from({ length: 500 }, () => wait(0))
  for (const start of times) {
    const within = times.filter((time) => time >= start && time < start + 1000).length
    assert.ok(within <= pace.burst + pace.perSecond, `${within} from ${start}`)
  }
})
