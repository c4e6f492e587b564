import assert from 'node:assert/strict'
import { test } from 'vitest'
import { Problem, StoreUnavailable } from '../../base/problem.ts'
import type { MailboxId } from '../rules/session.ts'
import { openScanQueue, type ScanLimits } from './scan-queue.ts'

const [ANN, BOB, EVE] = [7, 8, 9] as [MailboxId, MailboxId, MailboxId]
const LIMITS: ScanLimits = {
  atOnce: 4,
  atOncePerOwner: 2,
  waiting: 100,
  waitingPerOwner: 100,
  retry: { first: 1, max: 4 },
}

/** A queue whose scans end when the test ends them, in the order in which they were started. */
function fixture(limits: Partial<ScanLimits> = {}) {
  const running: { name: string; end: (outcome: string) => void; fail: (error: Error) => void }[] =
    []
  const failures: unknown[] = []
  const started: string[] = []
  const queue = openScanQueue<string>({
    run: ({ mailbox, id }) =>
      new Promise<string>((resolve, reject) => {
        running.push({ name: `${mailbox}/${id}`, end: resolve, fail: reject })
        started.push(`${mailbox}/${id}`)
      }),
    failed: (error) => failures.push(error),
    limits: { ...LIMITS, ...limits },
  })
  const settled = () => new Promise(setImmediate)

  return {
    queue,
    failures,
    /** All scans that were started, in order. */
    started,
    runningNames: () => running.map(({ name }) => name),
    async end(outcome = 'done') {
      running.shift()?.end(outcome)
      await settled()
    },
    async fail(error: Error) {
      running.shift()?.fail(error)
      await settled()
    },
    async endAll() {
      while (running.length > 0) {
        running.shift()?.end('done')
        await settled()
      }
    },
  }
}

const add = (
  queue: ReturnType<typeof fixture>['queue'],
  mailbox: MailboxId,
  ids: number[],
  client?: string,
) => ids.map((id) => queue.add({ mailbox, id, client }))

test('the scans of one mailbox run up to its limit, newest first', async () => {
  const { queue, runningNames, started, end, endAll } = fixture()
  add(queue, ANN, [5, 4, 3, 2, 1])
  assert.deepEqual(runningNames(), ['7/5', '7/4'])
  add(queue, ANN, [6])
  await end()
  await endAll()
  assert.deepEqual(started, ['7/5', '7/4', '7/6', '7/3', '7/2', '7/1'])
})

test('all scans together run up to the total limit, and mailboxes take turns', async () => {
  const { queue, started, runningNames, endAll } = fixture({ atOnce: 3 })
  for (const mailbox of [ANN, BOB]) add(queue, mailbox, [4, 3, 2, 1])
  assert.equal(runningNames().length, 3)
  add(queue, EVE, [1])
  await endAll()
  assert.deepEqual(started.slice(0, 3), ['7/4', '7/3', '8/4'])
  assert.ok(started.slice(3, 6).includes('9/1'), `${started}`)
  assert.equal(started.length, 9)
})

test('a client with many mailboxes has one share', async () => {
  const { queue, started, endAll } = fixture({ atOnce: 1 })
  for (const mailbox of [ANN, BOB]) add(queue, mailbox, [2, 1], '192.0.2.1')
  add(queue, EVE, [1], '192.0.2.2')
  await endAll()
  assert.deepEqual(started.slice(0, 2), ['7/2', '9/1'])
})

test('one client or mailbox cannot exceed its own part of the queue', async () => {
  const { queue } = fixture({ waitingPerOwner: 2, atOnce: 0 })
  const added = (mailbox: MailboxId, ids: number[], client: string) =>
    add(queue, mailbox, ids, client).map((result) => result !== undefined)
  assert.deepEqual(added(ANN, [2, 1], 'a'), [true, true])
  assert.deepEqual(added(BOB, [1], 'a'), [false])
  assert.deepEqual(added(ANN, [3], 'b'), [false])
  assert.deepEqual(added(BOB, [1], 'b'), [true])
  queue.close()
})

test('concurrent requests for one message share one scan and its outcome', async () => {
  const { queue, started, end } = fixture()
  const requests = [
    queue.add({ mailbox: ANN, id: 1, client: undefined }),
    queue.add({ mailbox: ANN, id: 1, client: undefined }),
  ]
  await end('one')
  assert.deepEqual(await Promise.all(requests), ['one', 'one'])
  assert.deepEqual(started, ['7/1'])
  add(queue, ANN, [1])
  assert.deepEqual(started, ['7/1', '7/1'], 'what is over is not remembered')
})

test('requests beyond the queue limit are refused until others complete', async () => {
  const { queue, end } = fixture({ waiting: 2 })
  const added = (ids: number[]) => add(queue, ANN, ids).map((outcome) => outcome !== undefined)
  assert.deepEqual(added([5, 4, 3, 2, 1]), [true, true, true, true, false])
  await end()
  assert.deepEqual(added([2, 1, 0]), [true, true, false])
})

test('a refused scan is retried until it completes', async () => {
  const { queue, started, fail, end, failures } = fixture({ atOnce: 1 })
  const outcome = queue.add({ mailbox: ANN, id: 1, client: undefined })
  for (let attempt = 0; attempt < 5; attempt += 1) {
    await fail(new Problem('overloaded', 'x'))
    while (started.length < attempt + 2) await new Promise(setImmediate)
  }
  await end('at last')
  assert.equal(await outcome, 'at last')
  assert.deepEqual(failures, [])
})

test('no scan is started while the store is unavailable', async () => {
  const { queue, started, fail } = fixture({ retry: { first: 3_600_000, max: 3_600_000 } })
  add(queue, ANN, [1])
  await fail(new StoreUnavailable())
  add(queue, BOB, [1])
  assert.deepEqual(started, ['7/1'])
  queue.close()
})

test('after an outage one scan is tried, and more once it succeeds', async () => {
  const { queue, started, runningNames, fail, end } = fixture()
  add(queue, ANN, [2, 1])
  add(queue, BOB, [2, 1])
  for (let failed = 0; failed < 4; failed += 1) await fail(new StoreUnavailable())
  while (started.length < 5) await new Promise(setImmediate)
  assert.equal(runningNames().length, 1)
  await end()
  assert.equal(runningNames().length, 3)
})

test('a refused scan does not delay others', async () => {
  const { queue, started, fail, end } = fixture({ retry: { first: 3_600_000, max: 3_600_000 } })
  add(queue, ANN, [1])
  await fail(new Problem('overloaded', 'x'))
  const other = queue.add({ mailbox: BOB, id: 1, client: undefined })
  assert.deepEqual(started, ['7/1', '8/1'])
  await end()
  assert.equal(await other, 'done')
  queue.close()
})

test('a retried scan is not overtaken indefinitely by new ones', async () => {
  const { queue, started, fail, end } = fixture({ atOnce: 1 })
  add(queue, ANN, [1])
  add(queue, BOB, [1, 2])
  await fail(new StoreUnavailable())
  while (started.length < 2) await new Promise(setImmediate)
  for (let id = 3; id < 60; id += 1) {
    add(queue, BOB, [id])
    await end()
  }
  assert.ok(started.lastIndexOf('7/1') > 0, `${started}`)
  queue.close()
})

test('when the queue is full, the client with the most requests loses one', async () => {
  const { queue } = fixture({ waiting: 4, atOnce: 0 })
  const [, , oldest] = add(queue, EVE, [3, 2, 1], 'eve')
  add(queue, BOB, [1], 'bob')
  assert.ok(queue.add({ mailbox: ANN, id: 1, client: 'ann' }))
  assert.equal(await oldest, undefined)
  queue.close()
})

test('an unexpected error is reported, affects one outcome and does not block the queue', async () => {
  const { queue, fail, end, failures } = fixture({ atOnce: 1 })
  const [bad, good] = [
    queue.add({ mailbox: ANN, id: 2, client: undefined }),
    queue.add({ mailbox: ANN, id: 1, client: undefined }),
  ]
  await fail(new Error('a bug'))
  await end('good')
  assert.deepEqual(await Promise.all([bad, good]), [undefined, 'good'])
  assert.deepEqual(failures.map(String), ['Error: a bug'])
})

test('closing resolves all waiters, and later failures are not reported', async () => {
  const { queue, fail, failures, started } = fixture({ atOnce: 1 })
  const outcomes = add(queue, ANN, [2, 1])
  queue.close()
  assert.deepEqual(await Promise.all(outcomes), [undefined, undefined])
  await fail(new Error('the store is closed'))
  assert.deepEqual([failures, started], [[], ['7/2']])
  assert.equal(queue.add({ mailbox: ANN, id: 3, client: undefined }), undefined)
})
