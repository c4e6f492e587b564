import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { describe, test } from 'vitest'
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
    assert.equal(thread.ready, 42)
    assert.equal(await thread.call('measure', new Uint8Array(5)), 5)
    await assert.rejects(thread.call('refuse'), (error: unknown) => {
      assert.ok(error instanceof Problem)
      assert.deepEqual([error.code, error.message, error.retryAfter], ['overloaded', 'not now', 7])
      return true
    })
    await assert.rejects(thread.call('fail'), /^Error: a fault of ours$/)
    await assert.rejects(thread.call('unheard-of'), /unknown command unheard-of/)
    await thread.close()
  })

  test('transfers bytes without copying, except parts of a larger buffer', async () => {
    const thread = await start(unexpected)
    const own = new Uint8Array([1, 2, 3])
    assert.deepEqual(await thread.call('reverse', own), new Uint8Array([3, 2, 1]))
    assert.equal(own.length, 0, 'transferred')
    const part = new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4)
    assert.deepEqual(await thread.call('reverse', part), new Uint8Array([3, 2, 1]))
    assert.deepEqual(part, new Uint8Array([1, 2, 3]), 'not transferred')
    await thread.close()
  })
})

describe('a thread', () => {
  test('that ends unexpectedly is reported with the cause', async () => {
    const died = Promise.withResolvers<Error>()
    const thread = await start(died.resolve)
    await thread.call('die')
    assert.match((await died.promise).message, /^the test thread failed: Error: the thread is lost/)
  })

  test('that is closed is not reported, and returns its last result although it has exited', async () => {
    const thread = await start(unexpected)
    const closing = thread.close()
    await setImmediate()
    await setImmediate()
    // It exits meanwhile, so this thread sees its result and its exit at once.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    assert.equal(await closing, 'closed')
  })

  test('that ends before it is ready fails the start', async () => {
    const missing = startThread('./testing/none.ts', {}, { name: 'none', died: unexpected })
    await assert.rejects(missing, /none\.ts/)
  })
})
