import { expect, test } from 'vitest'
import {
  afterPoll,
  dueWatches,
  nextAlarm,
  type Outcome,
  startWatch,
  type Watch,
  waitSeconds,
} from './watch.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const START = 1_000_000

const NOTHING: Outcome = { isNew: false, hasWaited: true }
const MAIL: Outcome = { isNew: true, hasWaited: false }
const FAILED: Outcome = { failed: true, reason: '' }

/** The requests of a watch until it ends, each at its time after the start, with the seconds it may wait. */
function requests(outcomeOf: (wait: number, at: number) => Outcome) {
  const sent: { at: number; wait: number }[] = []
  let watch: Watch | undefined = startWatch('a', START)
  let now = START
  while (watch) {
    now = Math.max(now, watch.nextAt)
    const wait = waitSeconds(watch, now)
    sent.push({ at: now - START, wait })
    const outcome = outcomeOf(wait, now - START)
    // A request without mail lasts as long as it may; any other is done at once.
    if (outcome === NOTHING) now += wait * SECOND
    watch = afterPoll(watch, outcome, now)
  }
  return sent
}

test('long polls of 25 seconds follow each other for ten minutes, then a request a minute for the rest of an hour', () => {
  const sent = requests(() => NOTHING)
  const long = sent.filter(({ wait }) => wait > 0)
  expect(long.map(({ at }) => at)).toEqual([...Array(24).keys()].map((n) => n * 25 * SECOND))
  expect(new Set(long.map(({ wait }) => wait))).toEqual(new Set([25]))
  const short = sent.filter(({ wait }) => wait === 0)
  expect(short[0]?.at).toBe(11 * MINUTE)
  expect(short.every(({ at }, n) => at === (11 + n) * MINUTE)).toBe(true)
  expect(short.at(-1)?.at).toBe(60 * MINUTE)
})

test('only the requests of the three newest addresses wait; the others are sent every 30 seconds', () => {
  const watches = [1, 2, 3, 4, 5].map((n) => startWatch(`${n}`, START + n))
  const now = START + SECOND
  const waits = watches.map((watch) => waitSeconds(watch, now, watches))
  expect(waits).toEqual([0, 0, 25, 25, 25])
  const [oldest = startWatch('', START)] = watches
  const next = afterPoll(oldest, { isNew: false, hasWaited: false }, now)
  expect(next?.nextAt).toBe(now + 30 * SECOND)
})

test('after mail, the next request follows at once', () => {
  const watch = startWatch('a', START)
  expect(afterPoll(watch, MAIL, START + SECOND)?.nextAt).toBe(START + SECOND)
})

test('a server that does not wait is asked every 30 seconds', () => {
  const sent = requests(() => ({ isNew: false, hasWaited: false }))
  expect(sent.slice(0, 3).map(({ at }) => at)).toEqual([0, 30 * SECOND, MINUTE])
})

test('a server that is away is asked less and less often, for an hour', () => {
  const sent = requests(() => FAILED)
  const minutes = sent.map(({ at }) => at / MINUTE)
  expect(minutes).toEqual([0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5])
})

test('no delay is longer than half an hour', () => {
  const watch = { ...startWatch('a', START), failures: 50 }
  expect(afterPoll(watch, FAILED, START)?.nextAt).toBe(START + 30 * MINUTE)
})

test('a server that is back is asked as before', () => {
  const failed = afterPoll(startWatch('a', START), FAILED, START)
  expect(failed?.failures).toBe(1)
  const back = failed && afterPoll(failed, NOTHING, START + MINUTE)
  expect(back).toEqual({ address: 'a', since: START, nextAt: START + MINUTE, failures: 0 })
})

test('Retry-After is obeyed if it is longer than our own delay', () => {
  const watch = startWatch('a', START)
  const after = (retryAfterMs: number) =>
    afterPoll(watch, { failed: true, reason: '', retryAfterMs }, START)?.nextAt
  expect(after(SECOND)).toBe(START + 30 * SECOND)
  expect(after(5 * MINUTE)).toBe(START + 5 * MINUTE)
  expect(after(48 * 60 * MINUTE)).toBe(START + 30 * MINUTE)
})

test('only what is due is asked for', () => {
  const now = { ...startWatch('a', START), nextAt: START }
  const later = { ...startWatch('b', START), nextAt: START + 1 }
  expect(dueWatches([now, later], START)).toEqual([now])
})

test('the alarm is for the next request, but never sooner than browsers allow', () => {
  expect(nextAlarm([], START)).toBeUndefined()
  const at = (nextAt: number) => ({ ...startWatch('a', START), nextAt })
  expect(nextAlarm([at(START)], START)).toBe(START + 30 * SECOND)
  expect(nextAlarm([at(START + 5 * MINUTE), at(START + MINUTE)], START)).toBe(START + MINUTE)
})
