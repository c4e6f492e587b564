import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type FairQueueLimits, openFairQueue, type Ticket } from './fair-queue.ts'

const overloadMessage = 'Too many jobs are waiting.'
const LIMITS: FairQueueLimits = {
  waiting: 100,
  waitingPerKey: 50,
  runningPerKey: 1,
  overloadMessage,
}

/** A queue of named jobs; an owner is written as its keys. */
function fixture(limits: Partial<FairQueueLimits> = {}) {
  const dropped: string[] = []
  const queue = openFairQueue<string>({ ...LIMITS, ...limits }, (item) => dropped.push(item))
  return {
    queue,
    dropped,
    add(name: string, owner: string, background = false): Ticket<string> {
      return queue.add(name, { owner: owner.split(' '), background })
    },
    take: () => queue.take({ background: true })?.item,
    /** The order in which one worker runs all waiting jobs. */
    run(costOf: (name: string) => number = () => 1): string {
      const order: string[] = []
      for (let count = 0; count < 1_000; count += 1) {
        const ticket = queue.take({ background: true })
        if (!ticket) break
        order.push(ticket.item)
        queue.done(ticket, costOf(ticket.item))
      }
      return order.join(' ')
    },
  }
}

describe('order', () => {
  test('jobs of one owner run in order of arrival', () => {
    const { add, run } = fixture()
    for (const name of ['1', '2', '3']) add(name, 'ann')
    assert.equal(run(), '1 2 3')
  })

  test('a rank orders the jobs of one owner', () => {
    const { queue, run } = fixture()
    for (const id of [3, 5, 4]) queue.add(String(id), { owner: ['ann'], rank: -id })
    assert.equal(run(), '5 4 3')
  })

  test('owners with equal jobs take turns', () => {
    const { add, run } = fixture()
    for (const name of ['a1', 'a2', 'a3']) add(name, 'ann')
    for (const name of ['b1', 'b2']) add(name, 'bob')
    assert.equal(run(), 'a1 b1 a2 b2 a3')
  })

  test('shares are measured in cost, not in jobs', () => {
    const { add, run } = fixture()
    for (const name of ['E1', 'E2', 'E3']) add(name, 'eve')
    for (let at = 0; at < 12; at += 1) add('b', 'bob')
    const order = run((name) => (name === 'b' ? 1 : 10))
    assert.equal(order, `E1 ${'b '.repeat(10)}E2 ${'b '.repeat(2)}E3`)
  })

  test('a client with many mailboxes has one share', () => {
    const { add, run } = fixture()
    for (let at = 0; at < 10; at += 1) add(`e${at}`, `eve box${at}`)
    add('b', 'bob box')
    assert.match(run(), /^e0 b e1 /)
  })

  test('a mailbox with many clients has one share', () => {
    const { add, run } = fixture()
    for (let at = 0; at < 10; at += 1) add(`e${at}`, `client${at} box`)
    add('b', 'bob other')
    assert.match(run(), /^e0 b e1 /)
  })

  test('a newcomer runs before owners that have used their share', () => {
    const { queue, add, take } = fixture({ runningPerKey: 9 })
    for (let at = 0; at < 5; at += 1) add(`e${at}`, 'eve')
    for (let at = 0; at < 3; at += 1) {
      const ticket = queue.take({ background: true })
      if (ticket) queue.done(ticket, 1_000)
    }
    add('b', 'bob')
    assert.equal(take(), 'b')
  })

  test('idle time does not accumulate credit', () => {
    const { add, run } = fixture()
    add('b0', 'bob')
    for (let at = 0; at < 4; at += 1) add(`e${at}`, 'eve')
    assert.equal(run(), 'b0 e0 e1 e2 e3')
    for (let at = 0; at < 3; at += 1) add(`e${at}`, 'eve')
    for (let at = 0; at < 3; at += 1) add(`b${at}`, 'bob')
    assert.equal(run(), 'e0 b0 e1 b1 e2 b2')
  })
})

describe('background jobs', () => {
  test('run when no other job waits, and fairly among themselves', () => {
    const { add, run } = fixture()
    for (const name of ['e1', 'e2', 'e3']) add(name, 'eve', true)
    add('b1', 'bob', true)
    add('a', 'ann')
    assert.equal(run(), 'a e1 b1 e2 e3')
  })

  test('are not taken unless requested', () => {
    const { queue, add } = fixture()
    add('b', 'bob', true)
    assert.equal(queue.take({ background: false }), undefined)
  })

  test('do not count as waiting', () => {
    const { add } = fixture({ waiting: 1, waitingPerKey: 1 })
    for (let at = 0; at < 5; at += 1) add('b', 'bob', true)
    add('b', 'bob')
    assert.throws(() => add('b', 'bob'), {
      code: 'overloaded',
      message: overloadMessage,
      retryAfter: 1,
    })
  })
})

describe('limits', () => {
  test('running jobs of one key are limited, foreground and background together', () => {
    const { queue, add, take } = fixture({ runningPerKey: 2 })
    for (const box of ['1', '2', '3']) add(box, `eve box${box}`)
    add('4', 'eve box4', true)
    assert.deepEqual([take(), take(), take()], ['1', '2', undefined])
    add('b', 'bob box')
    const bob = queue.take({ background: true })
    assert.equal(bob?.item, 'b')
    if (bob) queue.done(bob, 1)
    assert.equal(take(), undefined)
  })

  test('waiting jobs of one key are limited, and taking or removing one makes room', () => {
    const { queue, add, take } = fixture({ waitingPerKey: 2 })
    add('1', 'eve a')
    const second = add('2', 'eve b')
    assert.throws(() => add('3', 'eve c'), { code: 'overloaded' })
    add('b', 'bob c')
    queue.remove(second)
    add('3', 'eve c')
    assert.equal(take(), '1')
    add('4', 'eve d')
  })

  test('when the queue is full, the owner with the most jobs loses its last one', () => {
    const { add, dropped, run } = fixture({ waiting: 4 })
    for (const name of ['e1', 'e2', 'e3']) add(name, 'eve')
    add('b1', 'bob')
    add('a1', 'ann')
    assert.deepEqual(dropped, ['e3'])
    assert.throws(() => add('e4', 'eve'), { code: 'overloaded' }, 'nobody has more')
    add('c1', 'cyd')
    assert.deepEqual(dropped, ['e3', 'e2'])
    assert.throws(() => add('c2', 'cyd'), { code: 'overloaded' }, 'nobody has more than it would')
    assert.equal(run(), 'e1 b1 a1 c1')
  })

  test('without a drop handler, new jobs are refused', () => {
    const queue = openFairQueue<string>({ ...LIMITS, waiting: 2 })
    for (const item of ['1', '2']) queue.add(item, { owner: ['eve'] })
    assert.throws(() => queue.add('b', { owner: ['bob'] }), { code: 'overloaded' })
  })
})

test('a removed job is never taken; removing a running one has no effect', () => {
  const { queue, add, take } = fixture()
  const [first, second] = [add('1', 'ann'), add('2', 'ann')]
  queue.remove(first)
  assert.equal(take(), '2')
  queue.remove(second)
  queue.done(second, 1)
  assert.equal(take(), undefined)
})

test('clear removes all waiting jobs, and running ones can still end', () => {
  const { queue, add, take, run } = fixture()
  const running = add('0', 'ann')
  take()
  add('1', 'ann')
  add('2', 'bob', true)
  assert.deepEqual(queue.clear(), ['1', '2'])
  queue.done(running, 1)
  assert.equal(run(), '')
})

test('taking a job stays fast with thousands of owners', () => {
  const { queue, add } = fixture({ waiting: 30_000, runningPerKey: 9 })
  for (let at = 0; at < 5_000; at += 1) add('x', `client${at % 1_000} box${at}`)
  const before = process.threadCpuUsage()
  for (let count = 0; count < 100; count += 1) {
    const ticket = queue.take({ background: true })
    if (ticket) queue.done(ticket, 1)
  }
  const { user, system } = process.threadCpuUsage(before)
  assert.ok((user + system) / 1_000 < 1_000, `${(user + system) / 100_000} ms each`)
})
