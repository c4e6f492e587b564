import { describe, expect, test } from 'vitest'
import { isSlowerThan } from '../../test/kit/mail/growth.ts'
import type { SchedulerOptions } from './fair-queue.ts'
import { type JobRequest, openScheduler, timed } from './fair-scheduler.ts'

const OPTIONS: SchedulerOptions = {
  slots: 1,
  maxWaiting: 100,
  maxWaitingPerKey: 50,
  overloadMessage: 'Too many jobs are waiting.',
}
const OVERLOADED = expect.objectContaining({ code: 'overloaded', retryAfter: 1 })
const settled = () => new Promise(setImmediate)

/** Named jobs that end when the test ends them; an owner is written as its keys. */
function fixture(options: Partial<SchedulerOptions> = {}) {
  const scheduler = openScheduler({ ...OPTIONS, ...options })
  const started: string[] = []
  const ends: ((cost: number) => void)[] = []

  function add(name: string, owner: string, request: Partial<JobRequest> = {}, key: unknown = {}) {
    const result = scheduler.run(key, { owner: owner.split(' '), ...request }, () => {
      started.push(name)
      const cost = new Promise<number>((resolve) => ends.push(resolve))
      return { result: cost.then(() => name), cost }
    })
    result.catch(() => {})
    return result
  }

  /** Ends the job that was started first of those that run. */
  async function end(cost = 1): Promise<void> {
    ends.shift()?.(cost)
    await settled()
  }

  return {
    scheduler,
    started,
    add,
    end,
    /** Occupies the slot, so that all others wait. */
    hold: () => add('hold', 'nobody'),
    /** The order in which all jobs run, without the one that holds the slot. */
    async run(costOf: (name: string) => number = () => 1): Promise<string> {
      for (let count = 0; ends.length > 0; count += 1) await end(costOf(started[count] ?? ''))
      return started
        .splice(0)
        .filter((name) => name !== 'hold')
        .join(' ')
    },
  }
}

describe('order', () => {
  test('jobs of one owner run in order of arrival', async () => {
    const { add, run } = fixture()
    for (const name of ['1', '2', '3']) void add(name, 'ann')
    expect(await run()).toBe('1 2 3')
  })

  test('a rank orders the jobs of one owner', async () => {
    const { hold, add, run } = fixture()
    void hold()
    for (const id of [3, 5, 4]) void add(String(id), 'ann', { rank: -id })
    expect(await run()).toBe('5 4 3')
  })

  test('owners with equal jobs take turns', async () => {
    const { hold, add, run } = fixture()
    void hold()
    for (const name of ['a1', 'a2', 'a3']) void add(name, 'ann')
    for (const name of ['b1', 'b2']) void add(name, 'bob')
    expect(await run()).toBe('a1 b1 a2 b2 a3')
  })

  test('shares are measured in cost, not in jobs', async () => {
    const { hold, add, run } = fixture()
    void hold()
    for (const name of ['E1', 'E2', 'E3']) void add(name, 'eve')
    for (let at = 0; at < 12; at += 1) void add('b', 'bob')
    const order = await run((name) => (name.startsWith('E') ? 10 : 1))
    expect(order).toBe(`E1 ${'b '.repeat(10)}E2 ${'b '.repeat(2)}E3`)
  })

  test('a client with many mailboxes has one share', async () => {
    const { hold, add, run } = fixture()
    void hold()
    for (let at = 0; at < 10; at += 1) void add(`e${at}`, `eve box${at}`)
    void add('b', 'bob box')
    expect(await run()).toMatch(/^e0 b e1 /)
  })

  test('a mailbox with many clients has one share', async () => {
    const { hold, add, run } = fixture()
    void hold()
    for (let at = 0; at < 10; at += 1) void add(`e${at}`, `client${at} box`)
    void add('b', 'bob other')
    expect(await run()).toMatch(/^e0 b e1 /)
  })

  for (const [name, busy, quiet] of [
    ['one client, two mailboxes', 'ann box1', 'ann box2'],
    ['one mailbox, two clients', 'ann box1', 'bob box1'],
  ] as const) {
    test(`owners that share a key take turns, even if one always has another job waiting: ${name}`, async () => {
      const { add, end, started } = fixture()
      for (let count = 0; count < 2; count += 1) void add('busy', busy)
      void add('quiet', quiet)
      for (let count = 0; count < 10; count += 1) {
        void add('busy', busy)
        await end()
      }
      expect(started.indexOf('quiet')).toBe(2)
    })
  }

  test('a newcomer runs before owners that have used their share', async () => {
    const { add, end, started } = fixture()
    for (let at = 0; at < 5; at += 1) void add(`e${at}`, 'eve')
    for (let at = 0; at < 3; at += 1) await end(1_000)
    void add('b', 'bob')
    await end(1_000)
    expect(started.at(-1)).toBe('b')
  })

  test('idle time does not accumulate credit', async () => {
    const { hold, add, run } = fixture()
    void add('b0', 'bob')
    for (let at = 0; at < 4; at += 1) void add(`e${at}`, 'eve')
    expect(await run()).toBe('b0 e0 e1 e2 e3')
    void hold()
    for (let at = 0; at < 3; at += 1) void add(`e${at}`, 'eve')
    for (let at = 0; at < 3; at += 1) void add(`b${at}`, 'bob')
    expect(await run()).toBe('e0 b0 e1 b1 e2 b2')
  })
})

describe('background jobs', () => {
  const background = true

  test('run when no other job waits, and fairly among themselves', async () => {
    const { hold, add, run } = fixture()
    void hold()
    for (const name of ['e1', 'e2', 'e3']) void add(name, 'eve', { background })
    void add('b1', 'bob', { background })
    void add('a', 'ann')
    expect(await run()).toBe('a e1 b1 e2 e3')
  })

  test('leave a slot to the others', () => {
    const { add, started } = fixture({ slots: 2 })
    for (const owner of ['ann', 'bob']) void add(owner, owner, { background })
    expect(started).toEqual(['ann'])
    void add('eve', 'eve')
    expect(started).toEqual(['ann', 'eve'])
  })

  test('do not count as waiting', () => {
    const { hold, add } = fixture({ maxWaiting: 1, maxWaitingPerKey: 1 })
    void hold()
    for (let at = 0; at < 5; at += 1) void add('b', 'bob', { background })
    void add('b', 'bob')
    expect(() => add('b', 'bob')).toThrow(OVERLOADED)
  })

  test('get a small share while others keep all slots busy', async () => {
    const { scheduler } = fixture()
    const order: string[] = []
    const run = (name: string, owner: string, costMs: number, isBackground = false) =>
      scheduler.run({}, { owner: [owner], background: isBackground }, () => {
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
    expect(at.length, 'look-ups that ran while 800 reads waited').toBeGreaterThanOrEqual(30)
    // 20 ms each, against 800 reads of 10 ms: an eighth of their time is 50 jobs.
    expect(at.filter((index) => index < 400).length).toBeLessThanOrEqual(30)
    await Promise.all(lookups)
  })
})

describe('limits', () => {
  test('one owner cannot occupy all slots, foreground and background together', async () => {
    const { add, end, started } = fixture({ slots: 3 })
    for (const box of ['1', '2', '3']) void add(box, `eve box${box}`)
    void add('4', 'eve box4', { background: true })
    expect(started).toEqual(['1', '2'])
    void add('b', 'bob box')
    expect(started).toEqual(['1', '2', 'b'])
    await end()
    expect(started).toEqual(['1', '2', 'b', '3'])
  })

  test('waiting jobs of one key are limited; the start or the end of one makes room', async () => {
    const { hold, add, end, started } = fixture({ maxWaitingPerKey: 2 })
    void hold()
    void add('1', 'eve a')
    const left = new AbortController()
    void add('2', 'eve b', { signal: left.signal })
    expect(() => add('3', 'eve c')).toThrow(OVERLOADED)
    void add('b', 'bob c')
    left.abort()
    void add('3', 'eve c')
    await end()
    expect(started.at(-1)).toBe('1')
    void add('4', 'eve d')
    expect(() => add('5', 'eve e')).toThrow('Too many jobs are waiting.')
  })

  test('when the queue is full, the owner with the most jobs loses its last one', async () => {
    const { hold, add, run } = fixture({ maxWaiting: 4 })
    void hold()
    const [, second, third] = ['e1', 'e2', 'e3'].map((name) => add(name, 'eve'))
    void add('b1', 'bob')
    void add('a1', 'ann')
    await expect(third).rejects.toEqual(OVERLOADED)
    expect(() => add('e4', 'eve'), 'nobody has more').toThrow(OVERLOADED)
    void add('c1', 'cyd')
    await expect(second).rejects.toEqual(OVERLOADED)
    expect(() => add('c2', 'cyd'), 'nobody has more than it would').toThrow(OVERLOADED)
    expect(await run()).toBe('e1 b1 a1 c1')
  })
})

describe('requests for the same key', () => {
  test('share one run, which starts at the first turn of any of them, and are one waiting job', async () => {
    const { scheduler, hold, add, run } = fixture()
    void hold()
    for (const name of ['e1', 'e2']) void add(name, 'eve')
    const both = [add('e3', 'eve', {}, 'same'), add('b', 'bob', {}, 'same')]
    expect(scheduler.waiting()).toBe(3)
    expect(await run()).toBe('e1 e3 e2')
    expect(await Promise.all(both)).toEqual(['e3', 'e3'])
    expect(scheduler.waiting()).toBe(0)
  })

  test('one that somebody waits for takes the job out of the background', async () => {
    const { hold, add, run } = fixture()
    void hold()
    for (const name of ['later', 'promoted']) void add(name, 'bob', { background: true }, name)
    void add('e1', 'eve')
    void add('promoted', 'cyd', {}, 'promoted')
    expect(await run()).toBe('e1 promoted later')
  })

  test('may leave one by one; the job is dropped with the last of them', async () => {
    const { hold, add, run } = fixture()
    void hold()
    const [one, other] = [new AbortController(), new AbortController()]
    const left = add('x', 'eve', { signal: one.signal }, 'x')
    const kept = add('x', 'bob', {}, 'x')
    const dropped = add('y', 'eve', { signal: other.signal }, 'y')
    for (const each of [one, other]) each.abort(new Error('left'))
    await expect(left).rejects.toThrow('left')
    await expect(dropped).rejects.toThrow('left')
    expect(await run()).toBe('x')
    expect(await kept).toBe('x')
  })
})

test.each([
  ['an error', (throwBug: () => never) => timed(throwBug)],
  ['a start that throws', (throwBug: () => never) => throwBug()],
])('%s of a job rejects its requests, and the next job runs', async (_, start) => {
  const { scheduler, add, run } = fixture()
  const throwBug = () => {
    throw new Error('a bug')
  }
  const failing = scheduler.run({}, { owner: ['ann'] }, () => start(throwBug))
  void add('next', 'bob')
  await expect(failing).rejects.toThrow('a bug')
  await settled()
  expect(await run()).toBe('next')
})

test('closing rejects all requests, and no other job is started', async () => {
  const { scheduler, add, end, started } = fixture()
  const requests = [add('1', 'ann'), add('2', 'bob'), add('3', 'eve', { background: true })]
  scheduler.close()
  const closing = expect.objectContaining({ code: 'shutting_down' })
  for (const one of requests) await expect(one).rejects.toEqual(closing)
  expect(() => add('4', 'ann')).toThrow(closing)
  await end()
  expect(started).toEqual(['1'])
})

test.each([
  ['thousands of owners', 4_000, 80],
  ['thousands of jobs of a few owners', 10, 8_000],
])('adding and starting a job stays fast with %s', async (_, owners, ends) => {
  const load = async (parts: number) => {
    const count = 8_000 / parts
    const { add, end } = fixture({ slots: 10, maxWaiting: count, maxWaitingPerKey: 2_000 })
    const boxes = Math.max(owners / parts, 10)
    for (let at = 0; at < count + 10; at += 1) {
      void add('x', `client${at % Math.min(boxes, 1_000)} box${at % boxes}`, { rank: at })
    }
    // Each takes the place of another one.
    for (let at = 0; at < 80 / parts; at += 1) void add('y', `newcomer${at}`)
    for (let done = 0; done < ends / parts; done += 1) await end()
  }
  const eightParts = async () => {
    for (let part = 0; part < 8; part += 1) await load(8)
  }
  expect(await isSlowerThan(8, eightParts, () => load(1))).toBe(false)
})
