import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openWakeSignal } from './poll-loop.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('wait returns at once if there was a push before, which counts once', async () => {
  const signal = openWakeSignal()
  signal.wake('other')
  signal.wake('push')
  expect(await signal.wait(1_000)).toEqual(new Set(['other', 'push']))
  const next = signal.wait(1_000)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await next).toEqual(new Set())
})

test('wake ends the wait', async () => {
  const signal = openWakeSignal()
  const reasons = signal.wait(1_000_000)
  signal.wake('other')
  expect(await reasons).toEqual(new Set(['other']))
  expect(vi.getTimerCount()).toBe(0)
})
