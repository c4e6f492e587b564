import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { makeWaiterCounts, openMemoryBus } from '../../bus/memory.ts'
import { keyedTopic, type MailboxId, POOL } from '../rules/session.ts'
import { openSharedPolls, type PollSource, pollUntil } from './shared-poll.ts'

const BOX = 7 as MailboxId
const HOUR_MS = 3_600_000

/** A source that counts its polls; its interval is too long to elapse during a test. */
function countingSource(more: Partial<PollSource<number>> = {}) {
  let polls = 0
  const source: PollSource<number> = {
    key: 'box',
    topics: [BOX],
    async poll() {
      polls += 1
      return polls
    },
    intervalMs: HOUR_MS,
    signal: new AbortController().signal,
    ...more,
  }
  return { source, polls: () => polls }
}

/** A bus that never wakes a subscriber. */
const silentBus = { subscribe: () => () => {} }

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

describe('changes', () => {
  test('the first poll starts after the subscription, and each change causes one poll', async () => {
    const bus = openBus()
    const { source } = countingSource()
    const subscription = openSharedPolls<number>(bus).subscribe(source)
    expect(await subscription.next(HOUR_MS)).toBe(1)
    bus.wake(BOX)
    expect(await subscription.next(HOUR_MS)).toBe(2)
    const next = subscription.next(HOUR_MS)
    expect(await isPending(next)).toBeTruthy()
    bus.wake(BOX)
    expect(await next).toBe(3)
    expect(await subscription.next(1), 'nothing changed within this time').toBeUndefined()
    subscription.end()
    await bus.close()
  })

  test('a change during a poll causes another poll', async () => {
    const bus = openBus()
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    let at = 0
    const poll = async () => {
      at += 1
      return await (gates[at - 1]?.promise ?? Promise.reject(new Error('polled too often')))
    }
    const subscription = openSharedPolls<string>(bus).subscribe({
      ...countingSource().source,
      poll,
    })
    await new Promise(setImmediate)
    bus.wake(BOX)
    await new Promise(setImmediate)
    gates[0]?.resolve('before')
    expect(await subscription.next(HOUR_MS)).toBe('before')
    gates[1]?.resolve('after')
    expect(await subscription.next(HOUR_MS)).toBe('after')
    subscription.end()
    await bus.close()
  })

  test('a change of a subscribed topic causes a poll, a change of another topic does not', async () => {
    const bus = openBus()
    const topics = [POOL, keyedTopic('key', 'mine')]
    const { source, polls } = countingSource({ topics })
    const subscription = openSharedPolls<number>(bus).subscribe(source)
    await subscription.next(HOUR_MS)
    for (const topic of topics) {
      bus.wake(topic)
      await subscription.next(HOUR_MS)
    }
    const others = openSharedPolls<number>(bus).subscribe(
      countingSource({ topics: [keyedTopic('key', 'other')] }).source,
    )
    await others.next(HOUR_MS)
    bus.wake(keyedTopic('key', 'other'))
    await others.next(HOUR_MS)
    expect(polls()).toBe(3)
    subscription.end()
    others.end()
    await bus.close()
  })

  test('polls repeat at the interval without a wake-up from the bus', async () => {
    const { source } = countingSource({ intervalMs: 1 })
    const subscription = openSharedPolls<number>(silentBus).subscribe(source)
    await subscription.next(HOUR_MS)
    await subscription.next(HOUR_MS)
    subscription.end()
  })
})

describe('sharing', () => {
  test('subscribers with the same key share one poll; a late subscriber causes a new one', async () => {
    const bus = openBus()
    const shared = openSharedPolls<number>(bus)
    const { source, polls } = countingSource()
    const first = Array.from({ length: 50 }, () => shared.subscribe(source))
    for (const subscriber of first) expect(await subscriber.next(HOUR_MS)).toBe(1)
    bus.wake(BOX)
    for (const subscriber of first) expect(await subscriber.next(HOUR_MS)).toBe(2)
    const late = shared.subscribe(source)
    expect(await late.next(HOUR_MS)).toBe(3)
    expect(polls()).toBe(3)
    for (const subscriber of [...first, late]) subscriber.end()
    await bus.close()
  })

  test('at most 32 subscribers are notified per turn of the event loop', async () => {
    const shared = openSharedPolls<number>(silentBus)
    const { source } = countingSource()
    let notified = 0
    const subscriptions = Array.from({ length: 100 }, () => shared.subscribe(source))
    const all = subscriptions.map(async (subscriber) => {
      await subscriber.next(HOUR_MS)
      notified += 1
    })
    let before = 0
    for (let turn = 0; turn < 100 && notified < 100; turn += 1) {
      await new Promise(setImmediate)
      expect(notified - before, `${notified - before} in one turn`).toBeLessThanOrEqual(32)
      before = notified
    }
    await Promise.all(all)
    for (const subscriber of subscriptions) subscriber.end()
  })

  test('a failed poll rejects for every subscriber, and the next change polls again', async () => {
    const bus = openBus()
    const shared = openSharedPolls<string>(bus)
    const outcomes = [Promise.reject(new Error('unavailable')), Promise.resolve('back')]
    for (const outcome of outcomes) outcome.catch(() => {})
    const poll = () => outcomes.shift() ?? Promise.reject(new Error('polled too often'))
    const both = [1, 2].map(() => shared.subscribe({ ...countingSource().source, poll }))
    for (const subscriber of both)
      await expect(subscriber.next(HOUR_MS)).rejects.toThrow(/unavailable/)
    bus.wake(BOX)
    for (const subscriber of both) expect(await subscriber.next(HOUR_MS)).toBe('back')
    for (const subscriber of both) subscriber.end()
    await bus.close()
  })
})

describe('unsubscribing', () => {
  /** A bus that records its subscriptions. */
  function recordingBus() {
    const subscribed = new Set<MailboxId>()
    return {
      subscribed,
      subscribe(mailbox: MailboxId) {
        subscribed.add(mailbox)
        return () => subscribed.delete(mailbox)
      },
    }
  }

  test('ending the last subscription unsubscribes from the bus', async () => {
    const bus = recordingBus()
    const shared = openSharedPolls<number>(bus)
    const { source } = countingSource({ topics: [BOX, POOL] })
    const [one, other] = [shared.subscribe(source), shared.subscribe(source)]
    expect([...bus.subscribed]).toStrictEqual([BOX, POOL])
    one.end()
    one.end()
    expect(bus.subscribed.size).toBe(2)
    other.end()
    expect(bus.subscribed.size).toBe(0)
  })

  test('an abort ends the subscription at once with its reason, even if no next() is pending', async () => {
    const bus = recordingBus()
    const controller = new AbortController()
    const { source, polls } = countingSource({ signal: controller.signal, intervalMs: 1 })
    const subscription = openSharedPolls<number>(bus).subscribe(source)
    await subscription.next(HOUR_MS)
    controller.abort(new Error('enough'))
    expect(bus.subscribed.size).toBe(0)
    const before = polls()
    await expect(subscription.next(HOUR_MS)).rejects.toThrow(/enough/)
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(polls()).toBe(before)
  })

  test('an aborted signal causes one poll and no subscription', async () => {
    const bus = recordingBus()
    const { source, polls } = countingSource({ signal: AbortSignal.abort(new Error('gone')) })
    const subscription = openSharedPolls<number>(bus).subscribe(source)
    expect(await subscription.next(HOUR_MS)).toBe(1)
    await expect(subscription.next(HOUR_MS)).rejects.toThrow(/gone/)
    expect([bus.subscribed.size, polls()]).toStrictEqual([0, 1])
  })
})

describe('pollUntil', () => {
  test('resolves with the first defined result', async () => {
    const bus = openBus()
    const { source } = countingSource()
    const waiting = pollUntil(
      openSharedPolls<number>(bus),
      { ...source, seconds: 55 },
      async (n) => (n === 2 ? 'two' : undefined),
    )
    await new Promise(setImmediate)
    bus.wake(BOX)
    expect(await waiting).toBe('two')
    await bus.close()
  })

  test('starts the last poll when the time is up', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { source, polls } = countingSource()
    const calls: [number, boolean][] = []
    const polling = pollUntil(
      openSharedPolls<number>(silentBus),
      { ...source, seconds: 55 },
      async (n, isLast) => {
        calls.push([n, isLast])
        return isLast ? n : undefined
      },
    )
    while (calls.length === 0) await new Promise(setImmediate)
    vi.advanceTimersByTime(55_000)
    await polling
    expect(calls).toStrictEqual([
      [1, false],
      [2, true],
    ])
    expect(polls()).toBe(2)
  })
})
