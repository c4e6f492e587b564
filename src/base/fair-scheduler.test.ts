import assert from 'node:assert/strict'
import { test } from 'vitest'
import { openScheduler } from './fair-scheduler.ts'

test('waiting jobs are counted, not the requests that share one', async () => {
  const scheduler = openScheduler({
    slots: 1,
    maxWaiting: 100,
    maxWaitingPerKey: 100,
    overloadMessage: 'Too many are waiting.',
  })
  const gate = Promise.withResolvers<void>()
  const run = (key: string) =>
    scheduler.run(key, { owner: [key] }, () => ({ result: gate.promise, cost: Promise.resolve(1) }))
  const all = ['running', 'running', 'next', 'next', 'last'].map(run)
  assert.equal(scheduler.waiting(), 2)
  gate.resolve()
  await Promise.all(all)
  assert.equal(scheduler.waiting(), 0)
})

test('background jobs get a small share while others keep all slots busy', async () => {
  const scheduler = openScheduler({
    slots: 1,
    maxWaiting: 100,
    maxWaitingPerKey: 100,
    overloadMessage: 'Too many are waiting.',
  })
  const order: string[] = []
  const run = (name: string, owner: string, costMs: number, background = false) =>
    scheduler.run({}, { owner: [owner], background }, () => {
      order.push(name)
      return { result: Promise.resolve(), cost: Promise.resolve(costMs) }
    })
  const busy = async (owner: string) => {
    for (let count = 0; count < 200; count += 1) await run('read', owner, 10)
  }
  // Each has its next request queued before the previous one ends.
  const readers = ['ann', 'ann', 'bob', 'bob'].map(busy)
  const lookups = Array.from({ length: 40 }, () => run('lookup', 'eve', 20, true))
  await Promise.all(readers)
  const at = order.flatMap((name, index) => (name === 'lookup' ? [index] : []))
  assert.ok(at.length >= 30, `${at.length} of 40 look-ups ran while 800 reads waited`)
  // 20 ms each, against 800 reads of 10 ms: an eighth of their time is 50 jobs.
  assert.ok(at.filter((index) => index < 400).length <= 30, `${at}`)
  await Promise.all(lookups)
})
