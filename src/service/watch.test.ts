import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'vitest'
import { makeWaiters, openMemoryBus } from '../bus/memory.ts'
import { type MailboxId, POOL, readerTopic } from '../core/session.ts'
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

test('a change of any of the watched is news, and of nobody else', async () => {
  const bus = openMemoryBus(randomUUID(), makeWaiters())
  const [pool, key] = [POOL, readerTopic('key', 'mine')]
  const watch = watchMailbox(bus, { ...quiet(), mailboxes: [pool, key] })
  for (const one of [pool, key, pool]) {
    bus.wake(one)
    await watch.news()
  }
  let told = false
  const next = watch.news().then(() => {
    told = true
  })
  const others = watchMailbox(bus, { ...quiet(), mailboxes: [readerTopic('key', 'other')] })
  bus.wake(readerTopic('key', 'other'))
  await others.news()
  assert.equal(told, false)
  watch.poke()
  await next
  watch.end()
  others.end()
  await bus.close()
})

test('whoever has ended watches none of them any more', () => {
  const heard = new Set<MailboxId>()
  const bus = {
    subscribe(mailbox: MailboxId) {
      heard.add(mailbox)
      return () => heard.delete(mailbox)
    },
  }
  const watch = watchMailbox(bus, { ...quiet(), mailboxes: [BOX, POOL] })
  assert.deepEqual([...heard], [BOX, POOL])
  watch.end()
  assert.equal(heard.size, 0)
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
