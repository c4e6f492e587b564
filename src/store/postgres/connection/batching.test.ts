import assert from 'node:assert/strict'
import { test } from 'vitest'
import { batchLookups } from './batching.ts'

/** Finds every key but those that begin with `no`, when it is told to. */
function openFixture() {
  const sent: { keys: readonly string[]; answer(): void; fail(error: Error): void }[] = []
  const find = batchLookups<string, string>(
    (keys) =>
      new Promise((resolve, reject) => {
        const there = keys.filter((key) => !key.startsWith('no'))
        const found = new Map(there.map((key) => [key, `found ${key}`]))
        sent.push({ keys, answer: () => resolve(found), fail: reject })
      }),
  )
  return { sent, find, turn: () => new Promise((resolve) => setImmediate(resolve)) }
}

test('what is asked in one turn is one question, and each gets its own answer', async () => {
  const { sent, find, turn } = openFixture()
  const answers = Promise.all(['one', 'none', 'two', 'one'].map(find))
  await turn()
  assert.deepEqual(
    sent.map(({ keys }) => keys),
    [['one', 'none', 'two']],
  )
  sent[0]?.answer()
  assert.deepEqual(await answers, ['found one', undefined, 'found two', 'found one'])
})

test('a question goes out after it was asked, also when the same is under way', async () => {
  const { sent, find, turn } = openFixture()
  const first = find('one')
  await turn()
  const second = find('one')
  await turn()
  assert.equal(sent.length, 2)
  sent[1]?.answer()
  assert.equal(await second, 'found one')
  sent[0]?.answer()
  assert.equal(await first, 'found one')
})

test('two are under way at most, the rest waits and goes out together', async () => {
  const { sent, find, turn } = openFixture()
  const answers: Promise<string | undefined>[] = []
  for (const key of ['one', 'two', 'three', 'four']) {
    answers.push(find(key))
    await turn()
  }
  assert.equal(sent.length, 2)
  sent[0]?.answer()
  await answers[0]
  await turn()
  assert.deepEqual(sent[2]?.keys, ['three', 'four'])
  sent[1]?.answer()
  sent[2]?.answer()
  assert.equal((await Promise.all(answers)).length, 4)
})

test('a question has a hundred keys at most', async () => {
  const { sent, find, turn } = openFixture()
  const answers = Array.from({ length: 150 }, (_, number) => find(`key ${number}`))
  await turn()
  assert.deepEqual(
    sent.map(({ keys }) => keys.length),
    [100, 50],
  )
  for (const { answer } of sent) answer()
  assert.equal((await Promise.all(answers)).at(-1), 'found key 149')
})

test('a failure is told to all who asked together, and the next are asked for anew', async () => {
  const { sent, find, turn } = openFixture()
  const answers = Promise.allSettled([find('one'), find('two')])
  await turn()
  sent[0]?.fail(new Error('away'))
  assert.deepEqual(
    (await answers).map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  const again = find('one')
  await turn()
  sent[1]?.answer()
  assert.equal(await again, 'found one')
})
