import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'vitest'
import { makeWaiterCounts, openMemoryBus } from '../../bus/memory.ts'
import { keyedTopic, type MailboxId, POOL } from '../../core/session.ts'
import { openSharedPolls, type PollSource, pollUntil } from './shared-poll.ts'

const BOX = 7 as MailboxId
const HOUR_MS = 3_600_000

/** Polls that count themselves; nobody polls by himself while the test runs. */
function counting(more: Partial<PollSource<number>> = {}) {
  let polls = 0
  const wanted: PollSource<number> = {
    key: 'box',
    topics: [BOX],
    open: () => async () => {
      polls += 1
      return polls
    },
    intervalMs: HOUR_MS,
    signal: new AbortController().signal,
    ...more,
  }
  return { wanted, polls: () => polls }
}

/** A bus that never tells anybody anything. */
const deaf = { subscribe: () => () => {} }

const openBus = () => openMemoryBus(randomUUID(), makeWaiterCounts())

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false
  void promise.then(
    () => {
      isSettled = true
    },
    () => {
      isSettled = true
    },
  )
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  return !isSettled
}

describe('news', () => {
  test('the first poll begins after the subscription, and each change is polled once', async () => {
    const bus = openBus()
    const { wanted } = counting()
    const subscription = openSharedPolls<number>(bus).subscribe(wanted)
    assert.equal(await subscription.next(), 1)
    bus.wake(BOX)
    assert.equal(await subscription.next(), 2)
    const next = subscription.next()
    assert.ok(await isPending(next))
    subscription.wake()
    assert.equal(await next, undefined)
    subscription.end()
    await bus.close()
  })

  test('a change during a poll is polled again', async () => {
    const bus = openBus()
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    let at = 0
    const open = () => () => {
      at += 1
      return gates[at - 1]?.promise ?? Promise.reject(new Error('polled too often'))
    }
    const subscription = openSharedPolls<string>(bus).subscribe({ ...counting().wanted, open })
    await new Promise(setImmediate)
    bus.wake(BOX)
    await new Promise(setImmediate)
    gates[0]?.resolve('before')
    assert.equal(await subscription.next(), 'before')
    gates[1]?.resolve('after')
    assert.equal(await subscription.next(), 'after')
    subscription.end()
    await bus.close()
  })

  test('a change of any of the topics is news, and of nobody else', async () => {
    const bus = openBus()
    const topics = [POOL, keyedTopic('key', 'mine')]
    const { wanted, polls } = counting({ topics })
    const subscription = openSharedPolls<number>(bus).subscribe(wanted)
    await subscription.next()
    for (const topic of topics) {
      bus.wake(topic)
      await subscription.next()
    }
    const others = openSharedPolls<number>(bus).subscribe(
      counting({ topics: [keyedTopic('key', 'other')] }).wanted,
    )
    await others.next()
    bus.wake(keyedTopic('key', 'other'))
    await others.next()
    assert.equal(polls(), 3)
    subscription.end()
    others.end()
    await bus.close()
  })

  test('we poll by ourselves when the bus is lost', async () => {
    const { wanted } = counting({ intervalMs: 1 })
    const subscription = openSharedPolls<number>(deaf).subscribe(wanted)
    await subscription.next()
    await subscription.next()
    subscription.end()
  })
})

describe('sharing', () => {
  test('those who wait for the same share one poll; whoever joins late gets one of his own', async () => {
    const bus = openBus()
    const shared = openSharedPolls<number>(bus)
    const { wanted, polls } = counting()
    const first = Array.from({ length: 50 }, () => shared.subscribe(wanted))
    for (const one of first) assert.equal(await one.next(), 1)
    bus.wake(BOX)
    for (const one of first) assert.equal(await one.next(), 2)
    const late = shared.subscribe(wanted)
    assert.equal(await late.next(), 3)
    assert.equal(polls(), 3)
    for (const one of [...first, late]) one.end()
    await bus.close()
  })

  test('many are told a few per turn of the event loop', async () => {
    const shared = openSharedPolls<number>(deaf)
    const { wanted } = counting()
    let told = 0
    const subscriptions = Array.from({ length: 100 }, () => shared.subscribe(wanted))
    const all = subscriptions.map(async (one) => {
      await one.next()
      told += 1
    })
    let before = 0
    for (let turn = 0; turn < 100 && told < 100; turn += 1) {
      await new Promise(setImmediate)
      assert.ok(told - before <= 32, `${told - before} in one turn`)
      before = told
    }
    await Promise.all(all)
    for (const one of subscriptions) one.end()
  })

  test('a poll that fails fails for all, and the next one is another', async () => {
    const bus = openBus()
    const shared = openSharedPolls<string>(bus)
    const outcomes = [Promise.reject(new Error('away')), Promise.resolve('back')]
    for (const outcome of outcomes) outcome.catch(() => {})
    const open = () => () => outcomes.shift() ?? Promise.reject(new Error('polled too often'))
    const both = [1, 2].map(() => shared.subscribe({ ...counting().wanted, open }))
    for (const one of both) await assert.rejects(one.next(), /away/)
    bus.wake(BOX)
    for (const one of both) assert.equal(await one.next(), 'back')
    for (const one of both) one.end()
    await bus.close()
  })
})

describe('the end', () => {
  /** A bus that knows who listens. */
  function notingBus() {
    const heard = new Set<MailboxId>()
    return {
      heard,
      subscribe(mailbox: MailboxId) {
        heard.add(mailbox)
        return () => heard.delete(mailbox)
      },
    }
  }

  test('when the last has left, the bus is left and the poll is told', async () => {
    const bus = notingBus()
    const shared = openSharedPolls<number>(bus)
    let left: AbortSignal | undefined
    const open = (signal: AbortSignal) => {
      left = signal
      return async () => 1
    }
    const wanted = { ...counting({ topics: [BOX, POOL] }).wanted, open }
    const [one, other] = [shared.subscribe(wanted), shared.subscribe(wanted)]
    assert.deepEqual([...bus.heard], [BOX, POOL])
    one.end()
    one.end()
    assert.deepEqual([left?.aborted, bus.heard.size], [false, 2])
    other.end()
    assert.deepEqual([left?.aborted, bus.heard.size], [true, 0])
  })

  test('an abort ends it at once, with its reason, whether or not anybody asks for the next', async () => {
    const bus = notingBus()
    const controller = new AbortController()
    const { wanted, polls } = counting({ signal: controller.signal, intervalMs: 1 })
    const subscription = openSharedPolls<number>(bus).subscribe(wanted)
    await subscription.next()
    controller.abort(new Error('enough'))
    assert.equal(bus.heard.size, 0)
    const before = polls()
    await assert.rejects(subscription.next(), /enough/)
    await new Promise((resolve) => setTimeout(resolve, 5))
    assert.equal(polls(), before)
  })

  test('whoever has gone before subscribes to nothing', async () => {
    const bus = notingBus()
    const { wanted, polls } = counting({ signal: AbortSignal.abort(new Error('gone')) })
    const subscription = openSharedPolls<number>(bus).subscribe(wanted)
    await assert.rejects(subscription.next(), /gone/)
    assert.deepEqual([bus.heard.size, polls()], [0, 0])
  })
})

describe('polling for so long', () => {
  test('ends with what is worth an answer', async () => {
    const bus = openBus()
    const { wanted } = counting()
    const waiting = pollUntil(
      openSharedPolls<number>(bus),
      { ...wanted, seconds: 55 },
      async (n) => (n === 2 ? 'two' : undefined),
    )
    await new Promise(setImmediate)
    bus.wake(BOX)
    assert.equal(await waiting, 'two')
    await bus.close()
  })

  test('the last poll begins when the time is up', async () => {
    const { wanted, polls } = counting()
    const heard: [number, boolean][] = []
    await pollUntil(
      openSharedPolls<number>(deaf),
      { ...wanted, seconds: 0.01 },
      async (n, over) => {
        heard.push([n, over])
        return over ? n : undefined
      },
    )
    assert.deepEqual(heard, [
      [1, false],
      [2, true],
    ])
    assert.equal(polls(), 2)
  })
})
