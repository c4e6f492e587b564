import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteTestMail } from '../../test/kit/store/stores.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { type CheckResult, failure, ok, skipped, warning } from '../base/check-result.ts'
import type { LogFacts } from '../base/log/log.ts'
import { checkIfDue, runChecksNow } from './daily-checks.ts'
import type { Check } from './run-checks.ts'

const DAY = 86_400_000
const START = new Date('2026-03-01T12:00:00Z')

let mail: Awaited<ReturnType<typeof openSqliteTestMail>>
let time: Date
let results: Record<string, CheckResult>
let logged: string[]
beforeEach(async () => {
  mail = await openSqliteTestMail()
  time = START
  logged = []
})
afterEach(() => mail.close())

const record =
  (level: string) =>
  ({ check, subject = '' }: LogFacts) =>
    void logged.push(`${level} ${check} ${subject}`.trim())
const log = { info: record('info'), warn: record('warn'), error: record('error') }

const depsOf = (openChecks: () => Promise<Check[]>, store = mail.store) => {
  return { store, openChecks, log, now: () => time }
}

async function check(openChecks = async () => checksOf(results)): Promise<string[]> {
  logged = []
  const { signal } = new AbortController()
  await checkIfDue(depsOf(openChecks), signal)
  return logged
}

function checksOf(named: Record<string, CheckResult>): Check[] {
  return Object.entries(named).map(([title, result]) => {
    const [name = '', subject] = title.split(' ')
    return { name, ...(subject ? { subject } : {}), run: async () => result }
  })
}

test('a check is logged when it turns, and only then; the last results are kept for all nodes', async () => {
  expect(await mail.other.readCheckRun()).toBeUndefined()
  results = { 'mx a.test': ok('fine'), 'mx b.test': warning('odd', 'fix it'), redis: skipped('no') }
  expect(await check()).toEqual(['warn mx b.test'])
  time = new Date(START.getTime() + DAY)
  results = { ...results, 'mx a.test': failure('gone', 'publish'), redis: ok('7.2') }
  expect(await check()).toEqual(['warn mx a.test'])
  expect(await mail.other.readCheckRun()).toEqual({
    finishedAt: time,
    checks: [
      { name: 'mx', subject: 'a.test', ...failure('gone', 'publish'), since: time },
      { name: 'mx', subject: 'b.test', ...warning('odd', 'fix it'), since: START },
      { name: 'redis', ...ok('7.2'), since: time },
    ],
  })
  time = new Date(START.getTime() + 2 * DAY)
  results = { 'mx a.test': ok('back'), 'mx b.test': failure('worse', 'fix it') }
  expect(await check()).toEqual(['info mx a.test', 'warn mx b.test'])
  time = new Date(START.getTime() + 3 * DAY)
  results = { 'mx b.test': skipped('not tried') }
  expect(await check()).toEqual(['info mx b.test'])
})

test('the results of a run that was stopped are neither logged nor stored', async () => {
  const stop = new AbortController()
  const run = async () => {
    stop.abort()
    return failure('stopped', 'nothing')
  }
  const openChecks = async () => [{ name: 'mx', run }]
  await expect(checkIfDue(depsOf(openChecks), stop.signal)).rejects.toMatchObject({
    name: 'AbortError',
  })
  expect(logged).toEqual([])
  expect(await mail.other.readCheckRun()).toBeUndefined()
})

test('a run that the lease ended before it began is not taken for one', async () => {
  const openChecks = async () => checksOf({ mx: ok('fine') })
  const timing = { ttlMs: 3_000, renewMs: 50, stopMarginMs: 3_001, retryMs: 20, stopTimeoutMs: 20 }
  const { signal } = new AbortController()
  const late = runChecksNow({ ...depsOf(openChecks), timing }, signal)
  await expect(late).rejects.toThrow('the lease of the checks ended before they began')
  const stopped = runChecksNow(depsOf(openChecks), AbortSignal.abort())
  await expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
  const unwanted = runChecksNow(depsOf(openChecks), signal, { isWanted: () => false })
  expect(await unwanted).toBe(false)
  expect(await mail.other.readCheckRun()).toBeUndefined()
})

test('checks are made once in 24 hours, and again if the clock was ahead', async () => {
  results = { mx: ok('fine') }
  let runs = 0
  const counted = async () => {
    runs += 1
    return checksOf(results)
  }
  for (const [ms, expected] of [
    [0, 1],
    [DAY - 1, 1],
    [DAY, 2],
    [DAY, 2],
    [5, 3],
  ] as const) {
    time = new Date(START.getTime() + ms)
    await check(counted)
    expect(runs, `${ms} ms later`).toBe(expected)
  }
})

test('checks are made on request whatever the last run says, and by one node at a time', async () => {
  results = { mx: ok('fine') }
  await check()
  const { signal } = new AbortController()
  const release = Promise.withResolvers<CheckResult>()
  const slow = async () => [{ name: 'mx', run: () => release.promise }]
  time = new Date(START.getTime() + 1_000)
  const reported: string[] = []
  const report = ({ done, all }: { done: number; all: number }) => reported.push(`${done}/${all}`)
  const first = runChecksNow(depsOf(slow), signal, { report })
  await waitUntil(() => reported.length > 0)
  expect(await runChecksNow(depsOf(slow, mail.other), signal)).toBe(false)
  release.resolve(failure('gone', 'publish'))
  expect(await first).toBe(true)
  expect(reported).toEqual(['0/1', '1/1'])
  expect((await mail.other.readCheckRun())?.checks[0]?.status).toBe('failure')
  expect(
    await runChecksNow(
      depsOf(async () => []),
      signal,
    ),
  ).toBe(true)
})
