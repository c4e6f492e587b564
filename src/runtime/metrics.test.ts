import { expect, test } from 'vitest'
import { openSqliteTestMail } from '../../test/support/stores.ts'
import { readConfig } from '../config/config.ts'
import { failure, ok, skipped } from '../core/checks/result.ts'
import { openMetrics } from './metrics.ts'

test('the metrics have the last results of the daily checks, of any node', async () => {
  const { store, other, folder, close } = await openSqliteTestMail()
  const { config } = readConfig({ env: { MAYFLY_DATA: folder }, file: {} })
  const lines = async () => {
    const deps = { store, now: () => new Date(), writers: [], threads: [] }
    const text = await openMetrics(config, deps).text()
    return text.split('\n').filter((line) => /^mayfly_checks?_/.test(line))
  }
  expect(await lines()).toEqual([])
  const since = new Date(0)
  await other.saveCheckRun({
    finishedAt: new Date(1_772_366_400_000),
    checks: [
      { name: 'mx', subject: 'a.test', ...ok('fine'), since },
      { name: 'mx', subject: 'b.test', ...failure('gone', 'publish'), since },
      { name: 'gmail', subject: 'shop.one@gmail.com', ...ok('logged in'), since },
      { name: 'gmail', subject: 'shopping.e@gmail.com', ...failure('no', 'correct it'), since },
      { name: 'redis', ...skipped('not used'), since },
    ],
  })
  expect(await lines()).toEqual([
    'mayfly_check_status{check="mx",subject="a.test"} 0',
    'mayfly_check_status{check="mx",subject="b.test"} 2',
    // Masked; accounts that look the same have the worst of their results.
    'mayfly_check_status{check="gmail",subject="sh…e@gmail.com"} 2',
    'mayfly_checks_last_run_timestamp_seconds 1772366400',
  ])
  await close()
})
