import { expect, test, vi } from 'vitest'
import { spaced } from './throttled.ts'

test('requests in between share the next call, which begins after them', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  let [counted, reads] = [0, 0]
  const read = spaced(100, async () => {
    reads += 1
    return counted
  })
  const first = read()
  await vi.advanceTimersByTimeAsync(1)
  expect(await first).toBe(0)
  counted = 1
  const later = [read(), read()]
  await vi.advanceTimersByTimeAsync(98)
  expect(reads).toBe(1)
  counted = 2
  await vi.advanceTimersByTimeAsync(2)
  expect(await Promise.all(later)).toEqual([2, 2])
  expect(reads).toBe(2)
  vi.useRealTimers()
})

test('after a failure the next request reads again', async () => {
  let fails = true
  const read = spaced(0, async () => {
    if (fails) throw new Error('gone')
    return 1
  })
  await expect(read()).rejects.toThrow('gone')
  fails = false
  expect(await read()).toBe(1)
})
