import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openWakeSignal, throttle } from './poll-loop.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('wait returns the reasons given before, once', async () => {
  const signal = openWakeSignal()
  signal.wake('change')
  signal.wake('requested')
  signal.wake('change')
  expect(await signal.wait(1_000)).toEqual(new Set(['change', 'requested']))
  const next = signal.wait(1_000)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await next).toEqual(new Set())
})

test('wake ends the wait', async () => {
  const signal = openWakeSignal()
  const reasons = signal.wait(1_000_000)
  signal.wake('closing')
  expect(await reasons).toEqual(new Set(['closing']))
  expect(vi.getTimerCount()).toBe(0)
})

test('a throttled action runs at once, then at most once per interval', async () => {
  let runs = 0
  const throttled = throttle(() => {
    runs += 1
  }, 3_000)
  throttled.call()
  expect(runs).toBe(1)
  for (let count = 0; count < 100; count += 1) throttled.call()
  expect(runs).toBe(1)
  await vi.advanceTimersByTimeAsync(2_999)
  expect(runs).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(runs).toBe(2)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(runs).toBe(2)
  throttled.call()
  expect(runs).toBe(3)
  throttled.call()
  throttled.stop()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(runs).toBe(3)
})
