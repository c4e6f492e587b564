import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type LargeRead, openLargeReads } from './large-reads.ts'

const LARGE = 10_000_000
const EVE = { client: '203.0.113.9', mailbox: 'eve@box.test', size: LARGE }
const ANN = { client: '198.51.100.7', mailbox: 'ann@box.test', size: LARGE }

/** Large reads and pauses that end when the test ends them. */
function fixture(deadlineMs?: number) {
  const events: string[] = []
  const pausesMs: number[] = []
  const ends: (() => void)[] = []
  const pauses: (() => void)[] = []
  const reads = openLargeReads({
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    rest: (ms) => {
      pausesMs.push(ms)
      events.push('rest')
      return new Promise((resolve) => pauses.push(resolve))
    },
  })
  const read = (name: string, request: LargeRead = EVE, key = name) => {
    const result = reads.run(key, request, () => {
      events.push(name)
      return new Promise<string>((resolve) => ends.push(() => resolve(name)))
    })
    // Reads that no test awaits miss their deadline later.
    result.catch(() => {})
    return result
  }
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    events,
    reads,
    pausesMs,
    read,
    settle,
    async endRead() {
      ends.shift()?.()
      await settle()
    },
    async endPause() {
      pauses.shift()?.()
      await settle()
    },
  }
}

describe('large mails', () => {
  test('are read one at a time, with a pause after each', async () => {
    const { events, read, settle, endRead, endPause } = fixture()
    const first = read('first')
    void read('second')
    await settle()
    expect(events).toStrictEqual(['first'])
    await endRead()
    expect(await first).toBe('first')
    expect(events).toStrictEqual(['first', 'rest'])
    await endPause()
    expect(events).toStrictEqual(['first', 'rest', 'second'])
  })

  test('of one client delay another client by at most one read', async () => {
    const { events, read, settle, endRead, endPause } = fixture()
    for (let n = 0; n < 10; n += 1) void read(`eve ${n}`)
    await settle()
    void read('ann', ANN)
    await endRead()
    await endPause()
    expect(events).toStrictEqual(['eve 0', 'rest', 'ann'])
  })

  test('are refused if too many of one client are queued', async () => {
    const { read } = fixture()
    for (let n = 0; n < 21; n += 1) void read(`eve ${n}`)
    const message = 'Too many large messages are waiting to be read.'
    await expect(read('eve 21')).rejects.toMatchObject({
      code: 'overloaded',
      message,
      retryAfter: 1,
    })
    void read('ann', ANN)
  })

  test('read in the background are never refused and do not count against the limit of the client', async () => {
    const { events, read, endRead, endPause } = fixture()
    const lookups = { ...EVE, background: true }
    for (let n = 0; n < 30; n += 1) void read(`lookup ${n}`, lookups)
    for (let n = 0; n < 20; n += 1) void read(`eve ${n}`)
    await endRead()
    await endPause()
    expect(events).toStrictEqual(['lookup 0', 'rest', 'eve 0'])
  })

  test('are refused at the deadline', async () => {
    const { read } = fixture(1)
    void read('first').catch(() => {})
    await expect(read('second', ANN)).rejects.toMatchObject({ code: 'overloaded', retryAfter: 2 })
  })

  for (const [name, usedMs, expectedMs] of [
    ['of twice their CPU time', 30, 60],
    ['of at most 200 ms', 150, 200],
  ] as const) {
    test(`cause a pause ${name}`, async () => {
      const { reads, pausesMs, settle } = fixture()
      // Not the time that they wait for the database.
      const cpu = vi.spyOn(process, 'threadCpuUsage')
      onTestFinished(() => cpu.mockRestore())
      cpu.mockReturnValueOnce({ user: 0, system: 0 })
      cpu.mockReturnValueOnce({ user: usedMs * 1_000 - 5_000, system: 5_000 })
      await reads.run('one', EVE, () => settle())
      await settle()
      expect(pausesMs).toStrictEqual([expectedMs])
    })
  }

  test('requested concurrently under one key are read once', async () => {
    const { events, read, endRead } = fixture()
    const both = [read('one', EVE, 'raw 1'), read('two', EVE, 'raw 1')]
    await endRead()
    expect(await Promise.all(both)).toStrictEqual(['one', 'one'])
    expect(events).toStrictEqual(['one', 'rest'])
  })

  test('whose client has disconnected are not read', async () => {
    const { events, read, endRead, endPause } = fixture()
    void read('first')
    const disconnect = new AbortController()
    const second = read('second', { ...EVE, signal: disconnect.signal })
    disconnect.abort(new Error('gone'))
    await expect(second).rejects.toThrow(/gone/)
    await endRead()
    await endPause()
    expect(events).toStrictEqual(['first', 'rest'])
  })
})

test('a small mail is read without queueing', async () => {
  const { events, read, endRead } = fixture()
  void read('large')
  const small = read('small', { ...EVE, size: 4_096 })
  expect(events).toStrictEqual(['large', 'small'])
  await endRead()
  await endRead()
  expect(await small).toBe('small')
})
