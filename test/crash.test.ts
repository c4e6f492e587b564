import { expect, test } from 'vitest'
import { ENGINES } from './kit/crash/engines.ts'
import { quotaActor } from './kit/crash/key-actors.ts'
import { crashUnderLoad } from './kit/crash/rounds.ts'

const ROUNDS = process.env['MAYFLY_TEST_LONG'] ? 20 : 2

// With more load, more often and on both engines: npm run campaign.
test('after a SIGKILL, acknowledged mail is stored unchanged and exactly once, and no key gets more requests than its plan', async () => {
  const { counts, findings } = await crashUnderLoad({
    start: ENGINES.SQLite.start,
    count: ROUNDS,
    mails: 100,
    actors: [quotaActor()],
  })
  expect(findings).toStrictEqual([])
  expect(counts).toMatchObject({ 'plans used up': ROUNDS })
  process.stdout.write(`${JSON.stringify(counts)}\n`)
})
