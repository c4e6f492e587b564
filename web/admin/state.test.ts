import assert from 'node:assert/strict'
import { test } from 'vitest'
import { entryCount, nextOf, readEntries, readMore } from './pages.ts'

/** An API with this many entries, and the limits it was called with. */
function api(count: number) {
  const limits: number[] = []
  return {
    limits,
    async read({ limit, before = '0' }: { limit: number; before?: string }) {
      assert.ok(limit >= 1 && limit <= 1_000)
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
  assert.deepEqual([value.keys.length, limits], [50, [50]])
  for (let before = nextOf(value); before !== undefined; before = nextOf(value)) {
    value = await readMore(read, value, before)
  }
  assert.deepEqual(
    value.keys,
    Array.from({ length: 10_001 }, (_, at) => at),
  )
  assert.equal(limits.length, 51)
})

test('a list of 50 entries has no next page, one of 51 has', async () => {
  assert.equal(nextOf(await readEntries(api(50).read, 0)), undefined)
  assert.equal(nextOf(await readEntries(api(51).read, 0)), '50')
})

test('a reload returns as many entries as were shown', async () => {
  const { read, limits } = api(10_001)
  assert.equal(entryCount(await readEntries(read, 2_250)), 2_250)
  assert.deepEqual(limits, [1_000, 1_000, 250])
  assert.equal(entryCount(await readEntries(api(3).read, 2_250)), 3)
})

test('what is not a list is read once', async () => {
  let reads = 0
  const value = { status: 'success', warnings: ['one'] }
  const read = async () => {
    reads += 1
    return value
  }
  assert.deepEqual([await readEntries(read, 0), reads], [value, 1])
})
