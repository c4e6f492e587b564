import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { describe, expect, test } from 'vitest'
import { Problem } from '../base/problem.ts'
import { startThread } from './thread.ts'

const start = (died: (error: Error) => void) =>
  startThread('./testing/misbehaving.ts', {}, { name: 'test', died })
const unexpected = (error: Error) => {
  throw error
}

describe('a call to another thread', () => {
  test('returns results, problems with their code and errors with their message', async () => {
    const thread = await start(unexpected)
    expect(thread.ready).toBe(42)
    expect(await thread.call('measure', new Uint8Array(5))).toBe(5)
    await expect(thread.call('refuse')).rejects.toSatisfy((error: unknown) => {
      expect.assert(error instanceof Problem)
      expect([error.code, error.message, error.retryAfter]).toStrictEqual([
        'overloaded',
        'not now',
        7,
      ])
      return true
    })
    await expect(thread.call('fail')).rejects.toThrow(/^a fault of ours$/)
    await expect(thread.call('unheard-of')).rejects.toThrow(/unknown command unheard-of/)
    await thread.close()
  })

  test('transfers bytes without copying, except parts of a larger buffer', async () => {
    const thread = await start(unexpected)
    const own = new Uint8Array([1, 2, 3])
    expect(await thread.call('reverse', own)).toStrictEqual(new Uint8Array([3, 2, 1]))
    expect(own.length, 'transferred').toBe(0)
    const part = new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4)
    expect(await thread.call('reverse', part)).toStrictEqual(new Uint8Array([3, 2, 1]))
    expect(part, 'not transferred').toStrictEqual(new Uint8Array([1, 2, 3]))
    await thread.close()
  })
})

describe('a thread', () => {
  test('that ends unexpectedly is reported with the cause', async () => {
    const died = Promise.withResolvers<Error>()
    const thread = await start(died.resolve)
    await thread.call('die')
    expect((await died.promise).message).toMatch(
      /^the test thread failed: Error: the thread is lost/,
    )
  })

  test('that is closed is not reported, and returns its last result although it has exited', async () => {
    const thread = await start(unexpected)
    const closing = thread.close()
    await setImmediate()
    await setImmediate()
    // It exits meanwhile, so this thread sees its result and its exit at once.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    expect(await closing).toBe('closed')
  })

  test('has the limit of young objects that it is given, not that of the main thread', async () => {
    const heapLimit = async (maxYoungMb: number) => {
      setFlagsFromString('--max-semi-space-size=4')
      const options = { name: 'test', died: unexpected, maxYoungMb }
      const thread = await startThread('./testing/misbehaving.ts', {}, options)
      const limit = Number(await thread.call('heapLimit'))
      await thread.close()
      return limit
    }
    expect(((await heapLimit(48)) - (await heapLimit(12))) / 2 ** 20).toBe(36)
  })

  test('that ends before it is ready fails the start', async () => {
    const missing = startThread('./testing/none.ts', {}, { name: 'none', died: unexpected })
    await expect(missing).rejects.toThrow(/none\.ts/)
  })
})
