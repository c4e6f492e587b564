import { expect, onTestFinished, test } from 'vitest'
import { countTurns } from '../../../test/kit/mail/turns.ts'
import { openStepScheduler } from './step-scheduler.ts'

/** Records the turn of the event loop in which each step runs. */
function recordedRuns(limits?: Parameters<typeof openStepScheduler>[0]) {
  const { run } = openStepScheduler(limits)
  const turns = countTurns()
  onTestFinished(turns.stop)
  const ran: { client: string; turn: number }[] = []
  function* recording(client: string, count: number): Generator<void, string> {
    for (let step = 0; step < count; step += 1) {
      ran.push({ client, turn: turns.count() })
      yield
    }
    return client
  }
  const start = (client: string, count: number, signal?: AbortSignal) =>
    run({ client, mailbox: `of ${client}`, signal }, recording(client, count))
  return { start, ran }
}

test('of many runs at once, one step runs per turn of the event loop', async () => {
  const { start, ran } = recordedRuns()
  const clients = Array.from({ length: 20 }, (_, at) => `client ${at}`)
  expect(await Promise.all(clients.map((client) => start(client, 3)))).toStrictEqual(clients)
  expect(ran.length).toBe(60)
  expect(new Set(ran.map(({ turn }) => turn)).size).toBe(60)
})

test('a client does not wait for all runs of another one', async () => {
  const { start, ran } = recordedRuns()
  const many = Array.from({ length: 50 }, () => start('many', 10))
  await start('one', 3)
  expect(ran.filter(({ client }) => client === 'many').length, `${ran.length} steps`).toBeLessThan(
    100,
  )
  await Promise.all(many)
})

test('too many runs of a client are refused, those of others are not', async () => {
  const { start } = recordedRuns({ maxWaitingPerKey: 5 })
  const many = await Promise.allSettled([
    ...Array.from({ length: 10 }, () => start('many', 0)),
    start('one', 0),
  ])
  const refused = many.flatMap((run) => (run.status === 'rejected' ? [run.reason.code] : []))
  expect([refused, many.at(-1)?.status]).toStrictEqual([Array(4).fill('overloaded'), 'fulfilled'])
})

test('a run that is no longer needed ends, also with an error of a step', async () => {
  const { start, ran } = recordedRuns()
  const left = new AbortController()
  const first = start('first', 2)
  const aborted = start('aborted', 2, left.signal)
  left.abort(new Error('left'))
  await expect(aborted).rejects.toThrow(/left/)
  expect(await first).toBe('first')
  expect(new Set(ran.map(({ client }) => client))).toStrictEqual(new Set(['first']))
  const { step } = openStepScheduler()
  const failing = () => {
    throw new Error('a bug')
  }
  await expect(step({ client: undefined, mailbox: 1 }, failing)).rejects.toThrow(/a bug/)
  expect(await step({ client: undefined, mailbox: 1 }, () => 'next')).toBe('next')
})
