import { expect, test } from 'vitest'
import { entriesOf, nextOf, readEntries } from './state.ts'

/** An API with this many entries, and the limits it was called with. */
function api(count: number) {
  const limits: number[] = []
  return {
    limits,
    async read({ limit = 50, before = '0' }: { limit?: number; before?: string }) {
      expect(limit >= 1 && limit <= 1_000).toBe(true)
      limits.push(limit)
      const start = Number(before)
      const end = Math.min(start + limit, count)
      const keys = Array.from({ length: end - start }, (_, at) => start + at)
      return { status: 'success', keys, next: end < count ? String(end) : null }
    },
  }
}

test('the pages of a list of 10,001 entries are appended in order, each requested once', async () => {
  const { read, limits } = api(10_001)
  let value = await readEntries(read, 0)
  expect([value.keys.length, limits]).toEqual([50, [50]])
  while (nextOf(value) !== undefined) {
    value = await readEntries(read, value.keys.length + 200, value)
  }
  expect(value.keys).toEqual(Array.from({ length: 10_001 }, (_, at) => at))
  expect(limits).toHaveLength(51)
})

test('a list of 50 entries has no next page, one of 51 has', async () => {
  expect(nextOf(await readEntries(api(50).read, 0))).toBeUndefined()
  expect(nextOf(await readEntries(api(51).read, 0))).toBe('50')
})

test('a reload returns as many entries as were shown', async () => {
  const { read, limits } = api(10_001)
  expect(entriesOf(await readEntries(read, 2_250))).toHaveLength(2_250)
  expect(limits).toEqual([1_000, 1_000, 250])
  expect(entriesOf(await readEntries(api(3).read, 2_250))).toHaveLength(3)
})

test('what is not a list is read once', async () => {
  let reads = 0
  const value = { status: 'success', warnings: ['one'] }
  const read = async () => {
    reads += 1
    return value
  }
  expect([await readEntries(read, 0), reads]).toEqual([value, 1])
})
