import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { afterFailure, backoffSeconds, createRateLimiter, INITIAL, upgrade } from './retry.ts'

test('each way has two tries, then a plainer one, and the plainest goes on', () => {
  const ways: string[] = []
  let rung = INITIAL
  for (let failure = 0; failure < 6; failure += 1) {
    ways.push(rung.way)
    rung = afterFailure(rung)
  }
  assert.deepEqual(ways, ['stream', 'stream', 'wait', 'wait', 'look', 'look'])
})

test('from below the stream is tried once, and a failure leads down again', () => {
  const again = upgrade({ way: 'look', failures: 0 })
  assert.equal(again.way, 'stream')
  assert.equal(afterFailure(again).way, 'wait')
})

describe('a server that does not answer is left alone', () => {
  for (const [name, misses, chance, asked, seconds] of [
    ['half a second at least after the first miss', 1, 0, 0, 0.5],
    ['a second at most after the first miss', 1, 1, 0, 1],
    ['twice as long after the second', 2, 1, 0, 2],
    ['never longer than half a minute', 40, 1, 0, 30],
    ['and never all at the same moment', 40, 0, 0, 15],
    ['as long as it asked for, if that is longer', 1, 0, 90, 90],
    ['a little longer by chance', 1, 1, 100, 110],
  ] as const) {
    test(name, () => {
      assert.ok(Math.abs(backoffSeconds(misses, chance, asked) - seconds) < 1e-9)
    })
  }
})

test('a burst goes at once, the rest one after the other', () => {
  const wait = createRateLimiter({ burst: 3, perSecond: 10 })
  assert.deepEqual(
    [0, 0, 0, 0, 0].map((now) => wait(now)),
    [0, 0, 0, 100, 200],
  )
})

test('who has been quiet may go at once again, but no more than a burst', () => {
  const wait = createRateLimiter({ burst: 2, perSecond: 10 })
  assert.deepEqual(
    [0, 0, 60_000, 60_000, 60_000].map((now) => wait(now)),
    [0, 0, 0, 0, 100],
  )
})

test('no second has more requests than a burst and its share', () => {
  const pace = { burst: 100, perSecond: 25 }
  const wait = createRateLimiter(pace)
  const times = Array.from({ length: 500 }, () => wait(0))
  for (const start of times) {
    const within = times.filter((time) => time >= start && time < start + 1000).length
    assert.ok(within <= pace.burst + pace.perSecond, `${within} from ${start}`)
  }
})
