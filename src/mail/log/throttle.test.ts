import { expect, test } from 'vitest'
import { openLineThrottle } from './throttle.ts'

/** How many of these events a client gets a line for. */
function taken(
  throttle: ReturnType<typeof openLineThrottle>,
  count: number,
  now: number,
  client = 'a',
) {
  return Array.from({ length: count }, () => throttle.take(client, 'refused', now)).filter(Boolean)
    .length
}

test('a client gets 60 lines at once, then one a second', () => {
  const throttle = openLineThrottle()
  expect(taken(throttle, 1_000, 0)).toBe(60)
  expect(taken(throttle, 1_000, 999)).toBe(0)
  expect(taken(throttle, 1_000, 1_000)).toBe(1)
  expect(taken(throttle, 1_000, 11_000)).toBe(10)
  expect(taken(throttle, 1_000, 0, 'b')).toBe(60)
})

test('a clock that stands still or steps back gives no lines', () => {
  const throttle = openLineThrottle()
  taken(throttle, 60, 5_000)
  expect(taken(throttle, 10, 5_000)).toBe(0)
  expect(taken(throttle, 10, 0)).toBe(0)
})

test('the others are counted by result, and due once the client has room again', () => {
  const throttle = openLineThrottle()
  taken(throttle, 70, 0)
  throttle.take('a', 'accepted', 0)
  expect(throttle.takeCounts(1_999)).toEqual([])
  expect(throttle.isCounting()).toBe(true)
  expect(throttle.takeCounts(2_000)).toEqual([
    { client: 'a', result: 'refused', count: 10 },
    { client: 'a', result: 'accepted', count: 1 },
  ])
  expect(throttle.isCounting()).toBe(false)
  expect(throttle.takeCounts(100_000)).toEqual([])
})

test('in a flood that does not end, they are due after a minute', () => {
  const throttle = openLineThrottle()
  const due = []
  for (let now = 0; now < 120_000; now += 100) {
    taken(throttle, 10, now)
    if (now % 1_000 === 0) due.push(...throttle.takeCounts(now))
  }
  expect(due.length).toBe(1)
  expect(due[0]?.count).toBeGreaterThan(5_000)
})

test('at the end, all are due', () => {
  const throttle = openLineThrottle()
  taken(throttle, 61, 0)
  expect(throttle.takeCounts(0, true)).toEqual([{ client: 'a', result: 'refused', count: 1 }])
})

test('all clients together get 1,000 lines at once, then 500 a second; none is forgotten', () => {
  const throttle = openLineThrottle()
  const flood = (now: number) => {
    let lines = 0
    for (let client = 0; client < 20_000; client += 1)
      lines += taken(throttle, 1, now, `c${client}`)
    return lines
  }
  expect(flood(0)).toBe(1_000)
  expect(flood(1_000)).toBe(500)
  let counted = 0
  for (let now = 2_000; throttle.isCounting(); now += 1_000) {
    const counts = throttle.takeCounts(now)
    expect(counts.length).toBeLessThanOrEqual(1_000)
    for (const { count } of counts) counted += count
  }
  expect(counted).toBe(40_000 - 1_500)
})
