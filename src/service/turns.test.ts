import assert from 'node:assert/strict'
import { test } from 'vitest'
import { Problem } from '../core/problem.ts'
import type { MailboxId } from '../core/session.ts'
import { openTurns, type TurnLimits } from './turns.ts'

const [ANN, BOB, EVE] = [7, 8, 9] as [MailboxId, MailboxId, MailboxId]
const LIMITS: TurnLimits = {
  atOnce: 4,
  perMailbox: 2,
  waiting: 100,
  restMs: 1,
  longestRestMs: 4,
}

/** Turns whose deeds end when the test says so, in the order in which they were begun. */
function scene(limits: Partial<TurnLimits> = {}) {
  const begun: { name: string; end: (outcome: string) => void; fail: (error: Error) => void }[] = []
  const failures: unknown[] = []
  const told: string[] = []
  const turns = openTurns<string>({
    deed: (mailbox, id) =>
      new Promise<string>((resolve, reject) => {
        begun.push({ name: `${mailbox}/${id}`, end: resolve, fail: reject })
        told.push(`${mailbox}/${id}`)
      }),
    failed: (error) => failures.push(error),
    limits: { ...LIMITS, ...limits },
  })
  const settled = () => new Promise(setImmediate)

  return {
    turns,
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

const add = (turns: ReturnType<typeof scene>['turns'], mailbox: MailboxId, ids: number[]) =>
  ids.map((id) => turns.add(mailbox, id))

test('of one mailbox only a few are under way, the newest first', async () => {
  const { turns, underWay, told, end, endAll } = scene()
  add(turns, ANN, [5, 4, 3, 2, 1])
  assert.deepEqual(underWay(), ['7/5', '7/4'])
  add(turns, ANN, [6])
  await end()
  await endAll()
  assert.deepEqual(told, ['7/5', '7/4', '7/6', '7/3', '7/2', '7/1'])
})

test('in all only a few are under way, and the mailboxes take turns', async () => {
  const { turns, told, underWay, endAll } = scene({ atOnce: 3 })
  for (const mailbox of [ANN, BOB]) add(turns, mailbox, [4, 3, 2, 1])
  assert.equal(underWay().length, 3)
  add(turns, EVE, [1])
  await endAll()
  assert.deepEqual(told.slice(0, 6), ['7/4', '7/3', '8/4', '7/2', '8/3', '9/1'])
  assert.equal(told.length, 9)
})

test('whoever asks for the same gets the same outcome, and it is done once', async () => {
  const { turns, told, end } = scene()
  const asked = [turns.add(ANN, 1), turns.add(ANN, 1)]
  await end('one')
  assert.deepEqual(await Promise.all(asked), ['one', 'one'])
  assert.deepEqual(told, ['7/1'])
  add(turns, ANN, [1])
  assert.deepEqual(told, ['7/1', '7/1'], 'what is over is not remembered')
})

test('more than may wait are not taken on, until some are done', async () => {
  const { turns, end } = scene({ waiting: 2 })
  const added = (ids: number[]) => add(turns, ANN, ids).map((outcome) => outcome !== undefined)
  assert.deepEqual(added([5, 4, 3, 2, 1]), [true, true, true, true, false])
  await end()
  assert.deepEqual(added([2, 1, 0]), [true, true, false])
})

test('what is refused is tried again until it is done', async () => {
  const { turns, told, fail, end, failures } = scene({ atOnce: 1 })
  const outcome = turns.add(ANN, 1)
  for (let refused = 0; refused < 5; refused += 1) {
    await fail(new Problem('overloaded', 'x'))
    while (told.length < refused + 2) await new Promise(setImmediate)
  }
  await end('at last')
  assert.equal(await outcome, 'at last')
  assert.deepEqual(failures, [])
})

test('after a refusal nothing is begun for a while', async () => {
  const { turns, told, fail } = scene({ restMs: 3_600_000, longestRestMs: 3_600_000 })
  add(turns, ANN, [1])
  await fail(new Problem('overloaded', 'x'))
  add(turns, BOB, [1])
  assert.deepEqual(told, ['7/1'])
  turns.close()
})

test('after a rest one is tried, and more when it was not refused', async () => {
  const { turns, told, underWay, fail, end } = scene()
  add(turns, ANN, [2, 1])
  add(turns, BOB, [2, 1])
  for (let each = 0; each < 4; each += 1) await fail(new Problem('overloaded', 'x'))
  while (told.length < 5) await new Promise(setImmediate)
  assert.equal(underWay().length, 1)
  await end()
  assert.equal(underWay().length, 3)
})

test('a fault is told, costs its own outcome and holds up nobody', async () => {
  const { turns, fail, end, failures } = scene({ atOnce: 1 })
  const [bad, good] = [turns.add(ANN, 2), turns.add(ANN, 1)]
  await fail(new Error('a bug'))
  await end('good')
  assert.deepEqual(await Promise.all([bad, good]), [undefined, 'good'])
  assert.deepEqual(failures.map(String), ['Error: a bug'])
})

test('when it is closed nobody waits any more, and what then fails is nobody’s concern', async () => {
  const { turns, fail, failures, told } = scene({ atOnce: 1 })
  const outcomes = add(turns, ANN, [2, 1])
  turns.close()
  assert.deepEqual(await Promise.all(outcomes), [undefined, undefined])
  await fail(new Error('the store is closed'))
  assert.deepEqual([failures, told], [[], ['7/2']])
  assert.equal(turns.add(ANN, 3), undefined)
})
