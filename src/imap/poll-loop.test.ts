import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openWakeSignal, throttle } from './poll-loop.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('who listens hears what rang before, once', async () => {
  const bell = openWakeSignal()
  bell.ring('news')
  bell.ring('asked')
  bell.ring('news')
  expect(await bell.heard(1_000)).toEqual(new Set(['news', 'asked']))
  const next = bell.heard(1_000)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await next).toEqual(new Set())
})

test('a ring ends the waiting', async () => {
  const bell = openWakeSignal()
  const heard = bell.heard(1_000_000)
  bell.ring('end')
  expect(await heard).toEqual(new Set(['end']))
  expect(vi.getTimerCount()).toBe(0)
})

test('looks that are asked for: at once, then once in each rest however many ask', async () => {
  let rings = 0
  const asked = throttle(() => {
    rings += 1
  }, 3_000)
  asked.call()
  expect(rings).toBe(1)
  for (let count = 0; count < 100; count += 1) asked.call()
  expect(rings).toBe(1)
  await vi.advanceTimersByTimeAsync(2_999)
  expect(rings).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(rings).toBe(2)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(rings).toBe(2)
  asked.call()
  expect(rings).toBe(3)
  asked.call()
  asked.stop()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(rings).toBe(3)
})
