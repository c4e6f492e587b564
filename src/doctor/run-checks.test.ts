import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ok } from '../base/check-result.ts'
import { untilAborted } from '../base/jobs/lease.ts'
import { runChecks } from './run-checks.ts'

test('results are in the order of the checks; one that hangs or throws is a failure of its own', async () => {
  const pending: string[][] = []
  const results = await runChecks(
    [
      {
        name: 'hanging',
        run: (signal) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => setTimeout(reject))),
      },
      {
        name: 'throwing',
        subject: 'box.test',
        run: () => Promise.reject(new Error('no such thing')),
      },
      { name: 'right', run: async () => ok('fine') },
    ],
    { timeoutMs: 20, onProgress: (checks) => pending.push(checks.map(({ name }) => name)) },
  )
  expect(results).toEqual([
    expect.objectContaining({
      name: 'hanging',
      status: 'failure',
      seen: 'no result within 0.02 s',
    }),
    expect.objectContaining({
      name: 'throwing',
      subject: 'box.test',
      status: 'failure',
      seen: 'the check failed: no such thing',
    }),
    { name: 'right', status: 'ok', seen: 'fine', fix: '' },
  ])
  expect(pending.at(-1)).toEqual([])
  expect(pending.at(-2)).toEqual(['hanging'])
})

test('a stop aborts the checks that run, waits for their end and starts no more', async () => {
  const stop = new AbortController()
  const ended: string[] = []
  const running = Array.from({ length: 40 }, (_, index) => ({
    name: String(index),
    async run(signal: AbortSignal) {
      if (index === 3) stop.abort()
      await untilAborted(signal)
      // As a check that removes its mail.
      await setImmediate()
      ended.push(String(index))
      return ok('')
    },
  }))
  await expect(runChecks(running, { stop: stop.signal })).rejects.toMatchObject({
    name: 'AbortError',
  })
  expect(ended.sort()).toEqual(['0', '1', '2', '3'])
})
