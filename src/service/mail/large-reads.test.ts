import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type LargeRead, openLargeReads } from './large-reads.ts'

const LARGE = 10_000_000
const EVE = { client: '203.0.113.9', mailbox: 'eve@box.test', size: LARGE }
const ANN = { client: '198.51.100.7', mailbox: 'ann@box.test', size: LARGE }

/** Large reads that end, and rests that are over, when the test says so. */
function fixture(deadlineMs?: number) {
  const events: string[] = []
  const restsMs: number[] = []
  const ends: (() => void)[] = []
  const rests: (() => void)[] = []
  const reads = openLargeReads({
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    rest: (ms) => {
      restsMs.push(ms)
      events.push('rest')
      return new Promise((resolve) => rests.push(resolve))
    },
  })
  const read = (name: string, request: LargeRead = EVE, key = name) => {
    const result = reads.run(key, request, () => {
      events.push(name)
      return new Promise<string>((resolve) => ends.push(() => resolve(name)))
    })
    // Reads that no test waits for miss their deadline later.
    result.catch(() => {})
    return result
  }
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    events,
    reads,
    restsMs,
    read,
    settle,
    async endRead() {
      ends.shift()?.()
      await settle()
    },
    async endRest() {
      rests.shift()?.()
      await settle()
    },
  }
}

describe('large mails', () => {
  test('are read one at a time, and the thread rests after each', async () => {
    const { events, read, settle, endRead, endRest } = fixture()
    const first = read('first')
    void read('second')
    await settle()
    assert.deepEqual(events, ['first'])
    await endRead()
    assert.equal(await first, 'first')
    assert.deepEqual(events, ['first', 'rest'])
    await endRest()
    assert.deepEqual(events, ['first', 'rest', 'second'])
  })

  test('a reader who asks for many does not delay another by more than the one that is read', async () => {
    const { events, read, settle, endRead, endRest } = fixture()
    for (let n = 0; n < 10; n += 1) void read(`eve ${n}`)
    await settle()
    void read('ann', ANN)
    await endRead()
    await endRest()
    assert.deepEqual(events, ['eve 0', 'rest', 'ann'])
  })

  test('are refused when a reader has too many waiting', async () => {
    const { read } = fixture()
    for (let n = 0; n < 21; n += 1) void read(`eve ${n}`)
    const message = 'Too many large messages are waiting to be read.'
    await assert.rejects(read('eve 21'), { code: 'overloaded', message, retryAfter: 1 })
    void read('ann', ANN)
  })

  test('are not refused, and do not take the places of others, where nobody waits for them', async () => {
    const { events, read, endRead, endRest } = fixture()
    const lookups = { ...EVE, background: true }
    for (let n = 0; n < 30; n += 1) void read(`lookup ${n}`, lookups)
    for (let n = 0; n < 20; n += 1) void read(`eve ${n}`)
    await endRead()
    await endRest()
    assert.deepEqual(events, ['lookup 0', 'rest', 'eve 0'])
  })

  test('are refused when it takes too long until they are read', async () => {
    const { read } = fixture(1)
    void read('first').catch(() => {})
    await assert.rejects(read('second', ANN), { code: 'overloaded', retryAfter: 2 })
  })

  test('whose read waits for the database cost no rest', async () => {
    const { reads, restsMs, settle } = fixture()
    await reads.run('slow', EVE, () => new Promise((resolve) => setTimeout(resolve, 200)))
    await settle()
    assert.ok((restsMs[0] ?? 1_000) < 200, `${restsMs} ms`)
  })

  test('never let the next one wait long', async () => {
    const { reads, restsMs, settle } = fixture()
    await reads.run('costly', EVE, async () => {
      const before = process.threadCpuUsage().user
      while (process.threadCpuUsage().user - before < 150_000);
    })
    await settle()
    assert.deepEqual(restsMs, [200])
  })

  test('are read once for all who ask for the same at once', async () => {
    const { events, read, endRead } = fixture()
    const both = [read('one', EVE, 'raw 1'), read('two', EVE, 'raw 1')]
    await endRead()
    assert.deepEqual(await Promise.all(both), ['one', 'one'])
    assert.deepEqual(events, ['one', 'rest'])
  })

  test('whose client has gone are not read', async () => {
    const { events, read, endRead, endRest } = fixture()
    void read('first')
    const gone = new AbortController()
    const second = read('second', { ...EVE, signal: gone.signal })
    gone.abort(new Error('gone'))
    await assert.rejects(second, /gone/)
    await endRead()
    await endRest()
    assert.deepEqual(events, ['first', 'rest'])
  })
})

test('a small mail waits for nobody', async () => {
  const { events, read, endRead } = fixture()
  void read('large')
  const small = read('small', { ...EVE, size: 4_096 })
  assert.deepEqual(events, ['large', 'small'])
  await endRead()
  await endRead()
  assert.equal(await small, 'small')
})
