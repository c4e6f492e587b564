import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'vitest'
import { makeWaiters, openMemoryBus } from '../bus/memory.ts'
import type { MailboxId } from '../core/session.ts'
import { watchMailbox } from './watch.ts'

const BOX = 7 as MailboxId

/** Nobody looks by himself while the test runs. */
const quiet = () => ({
  mailboxes: [BOX],
  signal: new AbortController().signal,
  lookMs: 3_600_000,
})

/** A bus that never tells anybody anything. */
const deaf = { subscribe: () => () => {} }

test('a change between watching and waiting is not missed', async () => {
  const bus = openMemoryBus(randomUUID(), makeWaiters())
  const watch = watchMailbox(bus, quiet())
  bus.wake(BOX)
  await watch.news()
  watch.end()
  await bus.close()
})

test('each change is news once', async () => {
  const watch = watchMailbox(deaf, quiet())
  watch.poke()
  watch.poke()
  await watch.news()
  let told = false
  const next = watch.news().then(() => {
    told = true
  })
  await new Promise(setImmediate)
  assert.equal(told, false)
  watch.poke()
  await next
  watch.end()
})

test('whoever waits looks by himself when the bus is lost', async () => {
  const watch = watchMailbox(deaf, { ...quiet(), lookMs: 1 })
  await watch.news()
  await watch.news()
  watch.end()
})

test('an abort ends the wait with its reason, before and during', async () => {
  const controller = new AbortController()
  const watch = watchMailbox(deaf, { ...quiet(), signal: controller.signal })
  const waiting = watch.news()
  controller.abort(new Error('enough'))
  await assert.rejects(waiting, /enough/)
  await assert.rejects(watch.news(), /enough/)
  watch.end()
})
