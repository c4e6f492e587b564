import { expect, test } from 'vitest'
import { batchLookups } from './batching.ts'

/** Finds every key except those that start with `no`, when the test resolves the query. */
function openFixture() {
  const sent: { keys: readonly string[]; resolveQuery(): void; fail(error: Error): void }[] = []
  const find = batchLookups<string, string>(
    (keys) =>
      new Promise((resolve, reject) => {
        const existing = keys.filter((key) => !key.startsWith('no'))
        const found = new Map(existing.map((key) => [key, `found ${key}`]))
        sent.push({ keys, resolveQuery: () => resolve(found), fail: reject })
      }),
  )
  return { sent, find, turn: () => new Promise((resolve) => setImmediate(resolve)) }
}

test('lookups of one turn are one query, and each gets its own result', async () => {
  const { sent, find, turn } = openFixture()
  const results = Promise.all(['one', 'none', 'two', 'one'].map(find))
  await turn()
  expect(sent.map(({ keys }) => keys)).toStrictEqual([['one', 'none', 'two']])
  sent[0]?.resolveQuery()
  expect(await results).toStrictEqual(['found one', undefined, 'found two', 'found one'])
})

test('a lookup is sent after it was requested, even if a query for the same key is running', async () => {
  const { sent, find, turn } = openFixture()
  const first = find('one')
  await turn()
  const second = find('one')
  await turn()
  expect(sent.length).toBe(2)
  sent[1]?.resolveQuery()
  expect(await second).toBe('found one')
  sent[0]?.resolveQuery()
  expect(await first).toBe('found one')
})

test('at most two queries run, and further lookups are sent together', async () => {
  const { sent, find, turn } = openFixture()
  const results: Promise<string | undefined>[] = []
  for (const key of ['one', 'two', 'three', 'four']) {
    results.push(find(key))
    await turn()
  }
  expect(sent.length).toBe(2)
  sent[0]?.resolveQuery()
  await results[0]
  await turn()
  expect(sent[2]?.keys).toStrictEqual(['three', 'four'])
  sent[1]?.resolveQuery()
  sent[2]?.resolveQuery()
  expect((await Promise.all(results)).length).toBe(4)
})

test('a query has at most a hundred keys', async () => {
  const { sent, find, turn } = openFixture()
  const results = Array.from({ length: 150 }, (_, number) => find(`key ${number}`))
  await turn()
  expect(sent.map(({ keys }) => keys.length)).toStrictEqual([100, 50])
  for (const { resolveQuery } of sent) resolveQuery()
  expect((await Promise.all(results)).at(-1)).toBe('found key 149')
})

test('a failed query rejects all its lookups, and later lookups are sent again', async () => {
  const { sent, find, turn } = openFixture()
  const results = Promise.allSettled([find('one'), find('two')])
  await turn()
  sent[0]?.fail(new Error('unavailable'))
  expect((await results).map(({ status }) => status)).toStrictEqual(['rejected', 'rejected'])
  const again = find('one')
  await turn()
  sent[1]?.resolveQuery()
  expect(await again).toBe('found one')
})
