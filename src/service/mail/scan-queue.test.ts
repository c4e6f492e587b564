import assert from 'node:assert/strict'
import { test } from 'vitest'
import { Problem, StoreUnavailable } from '../../core/problem.ts'
import type { MailboxId } from '../../core/session.ts'
import { openScanQueue, type ScanLimits } from './scan-queue.ts'

const [ANN, BOB, EVE] = [7, 8, 9] as [MailboxId, MailboxId, MailboxId]
const LIMITS: ScanLimits = {
  atOnce: 4,
  atOncePerOwner: 2,
  waiting: 100,
  waitingPerOwner: 100,
  retry: { first: 1, max: 4 },
}

/** A queue whose look-ups end when the test says so, in the order in which they were begun. */
function fixture(limits: Partial<ScanLimits> = {}) {
  const begun: { name: string; end: (outcome: string) => void; fail: (error: Error) => void }[] = []
  const failures: unknown[] = []
  const told: string[] = []
  const queue = openScanQueue<string>({
    run: ({ mailbox, id }) =>
      new Promise<string>((resolve, reject) => {
        begun.push({ name: `${mailbox}/${id}`, end: resolve, fail: reject })
        told.push(`${mailbox}/${id}`)
      }),
    failed: (error) => failures.push(error),
    limits: { ...LIMITS, ...limits },
  })
  const settled = () => new Promise(setImmediate)

  return {
    queue,
    failures,
    /** All that were begun, in order. */
    told,
    underWay: () => begun.map(({ name }) => name),
    async end(outcome = 'done') {
      begun.shift()?.end(outcome)
      await settled()
    },
    async fail(error: Error) {
      begun.shift()?.fail(error)
      await settled()
    },
    async endAll() {
      while (begun.length > 0) {
        begun.shift()?.end('done')
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

test('of one mailbox only a few run at once, the newest first', async () => {
  const { queue, underWay, told, end, endAll } = fixture()
  add(queue, ANN, [5, 4, 3, 2, 1])
  assert.deepEqual(underWay(), ['7/5', '7/4'])
  add(queue, ANN, [6])
  await end()
  await endAll()
  assert.deepEqual(told, ['7/5', '7/4', '7/6', '7/3', '7/2', '7/1'])
})

test('in all only a few run at once, and the mailboxes take turns', async () => {
  const { queue, told, underWay, endAll } = fixture({ atOnce: 3 })
  for (const mailbox of [ANN, BOB]) add(queue, mailbox, [4, 3, 2, 1])
  assert.equal(underWay().length, 3)
  add(queue, EVE, [1])
  await endAll()
  assert.deepEqual(told.slice(0, 3), ['7/4', '7/3', '8/4'])
  assert.ok(told.slice(3, 6).includes('9/1'), `${told}`)
  assert.equal(told.length, 9)
})

test('a client with many mailboxes has one share', async () => {
  const { queue, told, endAll } = fixture({ atOnce: 1 })
  for (const mailbox of [ANN, BOB]) add(queue, mailbox, [2, 1], '192.0.2.1')
  add(queue, EVE, [1], '192.0.2.2')
  await endAll()
  assert.deepEqual(told.slice(0, 2), ['7/2', '9/1'])
})

test('one client or mailbox fills no more than its part of the queue', async () => {
  const { queue } = fixture({ waitingPerOwner: 2, atOnce: 0 })
  const added = (mailbox: MailboxId, ids: number[], client: string) =>
    add(queue, mailbox, ids, client).map((result) => result !== undefined)
  assert.deepEqual(added(ANN, [2, 1], 'a'), [true, true])
  assert.deepEqual(added(BOB, [1], 'a'), [false])
  assert.deepEqual(added(ANN, [3], 'b'), [false])
  assert.deepEqual(added(BOB, [1], 'b'), [true])
  queue.close()
})

test('whoever asks for the same gets the same outcome, and it is done once', async () => {
  const { queue, told, end } = fixture()
  const asked = [
    queue.add({ mailbox: ANN, id: 1, client: undefined }),
    queue.add({ mailbox: ANN, id: 1, client: undefined }),
  ]
  await end('one')
  assert.deepEqual(await Promise.all(asked), ['one', 'one'])
  assert.deepEqual(told, ['7/1'])
  add(queue, ANN, [1])
  assert.deepEqual(told, ['7/1', '7/1'], 'what is over is not remembered')
})

test('more than may wait are not taken on, until some are done', async () => {
  const { queue, end } = fixture({ waiting: 2 })
  const added = (ids: number[]) => add(queue, ANN, ids).map((outcome) => outcome !== undefined)
  assert.deepEqual(added([5, 4, 3, 2, 1]), [true, true, true, true, false])
  await end()
  assert.deepEqual(added([2, 1, 0]), [true, true, false])
})

test('what is refused is tried again until it is done', async () => {
  const { queue, told, fail, end, failures } = fixture({ atOnce: 1 })
  const outcome = queue.add({ mailbox: ANN, id: 1, client: undefined })
  for (let refused = 0; refused < 5; refused += 1) {
    await fail(new Problem('overloaded', 'x'))
    while (told.length < refused + 2) await new Promise(setImmediate)
  }
  await end('at last')
  assert.equal(await outcome, 'at last')
  assert.deepEqual(failures, [])
})

test('while the store is away nothing is begun', async () => {
  const { queue, told, fail } = fixture({ retry: { first: 3_600_000, max: 3_600_000 } })
  add(queue, ANN, [1])
  await fail(new StoreUnavailable())
  add(queue, BOB, [1])
  assert.deepEqual(told, ['7/1'])
  queue.close()
})

test('after a rest one is tried, and more when it was not refused', async () => {
  const { queue, told, underWay, fail, end } = fixture()
  add(queue, ANN, [2, 1])
  add(queue, BOB, [2, 1])
  for (let each = 0; each < 4; each += 1) await fail(new StoreUnavailable())
  while (told.length < 5) await new Promise(setImmediate)
  assert.equal(underWay().length, 1)
  await end()
  assert.equal(underWay().length, 3)
})

test('a refusal of one look-up delays no other', async () => {
  const { queue, told, fail, end } = fixture({ retry: { first: 3_600_000, max: 3_600_000 } })
  add(queue, ANN, [1])
  await fail(new Problem('overloaded', 'x'))
  const other = queue.add({ mailbox: BOB, id: 1, client: undefined })
  assert.deepEqual(told, ['7/1', '8/1'])
  await end()
  assert.equal(await other, 'done')
  queue.close()
})

test('a look-up that is tried again is not overtaken for ever by new ones', async () => {
  const { queue, told, fail, end } = fixture({ atOnce: 1 })
  add(queue, ANN, [1])
  add(queue, BOB, [1, 2])
  await fail(new StoreUnavailable())
  while (told.length < 2) await new Promise(setImmediate)
  for (let id = 3; id < 60; id += 1) {
    add(queue, BOB, [id])
    await end()
  }
  assert.ok(told.lastIndexOf('7/1') > 0, `${told}`)
  queue.close()
})

test('when too many wait, the client with the most loses one, not the newcomer', async () => {
  const { queue } = fixture({ waiting: 4, atOnce: 0 })
  const [, , oldest] = add(queue, EVE, [3, 2, 1], 'eve')
  add(queue, BOB, [1], 'bob')
  assert.ok(queue.add({ mailbox: ANN, id: 1, client: 'ann' }))
  assert.equal(await oldest, undefined)
  queue.close()
})

test('a fault is told, costs its own outcome and holds up nobody', async () => {
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

test('when it is closed nobody waits any more, and what then fails is nobody’s concern', async () => {
  const { queue, fail, failures, told } = fixture({ atOnce: 1 })
  const outcomes = add(queue, ANN, [2, 1])
  queue.close()
  assert.deepEqual(await Promise.all(outcomes), [undefined, undefined])
  await fail(new Error('the store is closed'))
  assert.deepEqual([failures, told], [[], ['7/2']])
  assert.equal(queue.add({ mailbox: ANN, id: 3, client: undefined }), undefined)
})
