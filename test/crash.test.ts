import { expect, test } from 'vitest'
import { ENGINES } from './kit/crash/engines.ts'
import { crashUnderLoad } from './kit/crash/rounds.ts'

const ROUNDS = process.env['MAYFLY_TEST_LONG'] ? 20 : 2

// With more load, more often and on both engines: npm run campaign.
test('mail acknowledged with 250 is stored unchanged and exactly once after a SIGKILL', async () => {
  const { start } = ENGINES.SQLite
  const { counts, findings } = await crashUnderLoad({ start, count: ROUNDS, mails: 100 })
  expect(findings).toStrictEqual([])
  process.stdout.write(`${counts['mails']} acknowledged mails, all there\n`)
})
