import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openSqliteTestMail } from '../../test/kit/store/stores.ts'
import { failure, ok, skipped } from '../base/check-result.ts'
import type { Metric } from '../base/metrics.ts'
import { StoreUnavailable } from '../base/problem.ts'
import type { Store } from '../store/store.ts'
import { readConfig } from './config.ts'
import { openMetrics } from './metrics.ts'
import type { Thread } from './thread.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => vi.useRealTimers())

const NOW = new Date('2026-03-01T12:00:00Z')
const never = () => new Promise<never>(() => {})
const logged: string[] = []
const log = { error: (_facts: object, text: string) => void logged.push(text) }

const HEALTHY: Partial<Store> = {
  readStoreLevels: async () => ({ liveSessions: 3, storedBytes: 9, oldestExpiry: undefined }),
  readCheckRun: async () => undefined,
  storageFault: () => undefined,
}

function open({ store = HEALTHY, threads = [] as Thread[], data = '/' }) {
  const { config } = readConfig({ env: { MAYFLY_DATA: data }, file: {} })
  return openMetrics(config, {
    store: store as Store,
    threads,
    mailWriter: undefined,
    now: () => NOW,
    log,
  })
}

/** A thread that has counted this many mails, and returns more when it closes. */
function thread(mails: number, close: () => Promise<unknown>): Thread {
  return { call: async () => [counted(mails)], close }
}

function counted(value: number): Metric {
  const values = [{ labels: {}, value }]
  return { name: 'mails', help: '', type: 'counter', aggregator: 'sum', values }
}

/** The text, after all timeouts. */
async function textOf(metrics: ReturnType<typeof open>): Promise<string> {
  const text = metrics.text()
  await vi.advanceTimersByTimeAsync(2_000)
  return await text
}

test('a healthy store is ready and has levels', async () => {
  const text = await textOf(open({ threads: [thread(1, never)] }))
  for (const line of ['mails 1', 'mayfly_ready 1', 'mayfly_live_sessions 3']) {
    expect(text.split('\n')).toContain(line)
  }
})

test.each([
  ['hangs', { readStoreLevels: never, readCheckRun: never, storageFault: never }, '/', 0],
  [
    'is unavailable',
    {
      readStoreLevels: () => Promise.reject(new StoreUnavailable(new Error('gone'))),
      readCheckRun: never,
      storageFault: async () => ({ kind: 'unavailable' as const, reason: 'gone' }),
    },
    '/',
    0,
  ],
  [
    'fails',
    {
      readStoreLevels: () => Promise.reject(new Error('SQL')),
      readCheckRun: never,
      storageFault: () => {
        throw new Error('EIO')
      },
    },
    '/nonexistent/folder',
    3,
  ],
])(
  'while the store %s, it is not ready and the threads are counted',
  async (_, store, data, faults) => {
    logged.length = 0
    const lines = (await textOf(open({ store, data, threads: [thread(1, never)] }))).split('\n')
    expect(lines).toContain('mails 1')
    expect(lines).toContain('mayfly_ready 0')
    expect(lines.some((line) => line.startsWith('mayfly_live_sessions'))).toBe(false)
    expect(logged).toEqual(Array(faults).fill('cannot read some of the metrics'))
  },
)

test('of a thread that fails to close, what it counted before is kept', async () => {
  const metrics = open({
    threads: [
      thread(1, async () => [counted(2)]),
      thread(10, () => Promise.reject(new Error('cannot close'))),
      thread(100, async () => undefined),
    ],
  })
  await textOf(metrics)
  await expect(metrics.closeThreads()).rejects.toThrow('cannot close')
  expect((await textOf(metrics)).split('\n')).toContain('mails 112')
})

test('the metrics have the last results of the daily checks, of any node', async () => {
  const { store, other, folder, close } = await openSqliteTestMail()
  const lines = async (env: Record<string, string> = {}) => {
    const { config } = readConfig({ env: { MAYFLY_DATA: folder, ...env }, file: {} })
    const deps = { store, now: () => new Date(), log, mailWriter: undefined, threads: [] }
    const text = await textOf(openMetrics(config, deps))
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
  // Without daily checks, an old result would stay for ever.
  expect(await lines({ MAYFLY_DAILY_CHECKS: 'off' })).toEqual([])
  await close()
})
