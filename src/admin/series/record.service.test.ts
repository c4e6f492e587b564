import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import type { Metric } from '../../base/metrics.ts'
import { StoreUnavailable } from '../../base/problem.ts'
import { openRecorder } from './record.ts'
import type { SeriesName, SeriesRange } from './rules.ts'
import { readSeries } from './series.ts'
import type { SeriesMinute } from './store.ts'

const START = new Date('2026-03-01T12:00:10Z')
const MINUTE = 60_000
const logged: unknown[] = []
const log = {
  warn: (facts: unknown) => logged.push(facts),
  error: (facts: unknown) => logged.push(facts),
}

let opened: Awaited<ReturnType<typeof openSqliteTestMail>>
let now: Date
beforeEach(async () => {
  opened = await openSqliteTestMail()
  now = START
})
afterEach(() => opened.close())

let nodes = 0

/** A node with counters of its own. */
function openNode(node: string, before: Metric[] = [], save = opened.store.saveMinute) {
  let current = before
  const recorder = openRecorder({
    store: { saveMinute: save },
    readMetrics: async () => current,
    before,
    newNode: () => `${node} ${nodes++}`,
    now: () => now,
    log,
  })
  return {
    record: recorder.record,
    run: recorder.run,
    set(mails: Record<string, number>, more: Metric[] = []) {
      current = [metric('mayfly_smtp_mails_total', 'outcome', mails), ...more]
    },
  }
}

function metric(name: string, label: string, counts: Record<string, number>): Metric {
  const values = Object.entries(counts).map(([at, value]) => ({ labels: { [label]: at }, value }))
  return { name, help: '', type: 'counter', aggregator: 'sum', values }
}

const pass = (minutes: number) => {
  now = new Date(now.getTime() + minutes * MINUTE)
}

/** The values of the last minutes, oldest first. */
async function last(minutes: number, name: SeriesName = 'mails', range: SeriesRange = '1h') {
  const { points } = await readSeries({ store: opened.other, now: () => now }, { name, range })
  return points.slice(-minutes).map(({ values }) => values)
}

test('each minute has what was counted in it', async () => {
  const node = openNode('one')
  node.set({ stored: 5 })
  pass(1)
  await node.record()
  node.set({ stored: 7, full: 1 })
  pass(1)
  await node.record()
  pass(1)
  await node.record()
  expect(await last(3)).toEqual([
    { stored: 5, full: 0 },
    { stored: 2, full: 1 },
    { stored: 0, full: 0 },
  ])
})

test('what the process counted before is not counted again', async () => {
  const node = openNode('one', [metric('mayfly_smtp_mails_total', 'outcome', { stored: 100 })])
  node.set({ stored: 101 })
  pass(1)
  await node.record()
  expect(await last(1)).toEqual([{ stored: 1 }])
})

test('nodes, and runs of a node in the same minute, add up', async () => {
  for (const [run, stored] of [
    ['one', 3],
    ['one again', 4],
    ['two', 5],
  ] as const) {
    const node = openNode(run)
    node.set({ stored })
    await node.record()
  }
  pass(1)
  expect(await last(1)).toEqual([{ stored: 12 }])
})

test('an incomplete minute that is saved twice is counted once', async () => {
  const node = openNode('one')
  node.set({ stored: 2 })
  await node.record()
  node.set({ stored: 3 })
  await node.record()
  pass(1)
  expect(await last(1)).toEqual([{ stored: 3 }])
})

test('while the store is unavailable nothing is lost or counted twice', async () => {
  let isUp = true
  const save = async (minute: SeriesMinute) => {
    await opened.store.saveMinute(minute)
    // As when the connection is lost after the commit.
    if (!isUp) throw new StoreUnavailable(new Error('lost'))
  }
  const node = openNode('one', [], save)
  for (const [stored, up] of [
    [5, false],
    [6, false],
    [9, true],
    [10, true],
  ] as const) {
    isUp = up
    node.set({ stored })
    pass(1)
    await node.record().catch((error) => expect(error).toBeInstanceOf(StoreUnavailable))
  }
  const values = await last(4)
  expect(values.map((value) => value['stored'])).toEqual([9, 0, 0, 1])
})

test('mails fetched from Gmail accounts have a label of their own', async () => {
  const node = openNode('one')
  node.set({ stored: 2 }, [metric('mayfly_imap_mails_total', 'outcome', { stored: 3, known: 9 })])
  pass(1)
  await node.record()
  expect(await last(1)).toEqual([{ stored: 2, fetched: 3 }])
  expect(await last(1, 'refusals')).toEqual([{}])
})

test('refusals of connections, senders, recipients and mails are counted by reason', async () => {
  const node = openNode('one')
  node.set({ stored: 9, full: 1 }, [
    metric('mayfly_smtp_connections_total', 'start', { greeted: 50, too_many_connections: 2 }),
    metric('mayfly_smtp_refused_senders_total', 'reason', { too_many_mails: 3 }),
    metric('mayfly_smtp_refused_recipients_total', 'reason', { unknown: 4, full: 6 }),
  ])
  pass(1)
  await node.record()
  expect(await last(1, 'refusals')).toEqual([
    { too_many_connections: 2, too_many_mails: 3, unknown: 4, full: 7 },
  ])
})

test('the latency is that of requests in the minute, over all routes', async () => {
  const buckets = (counts: Record<string, number[]>): Metric => ({
    name: 'mayfly_http_request_seconds',
    help: '',
    type: 'histogram',
    aggregator: 'sum',
    values: Object.entries(counts).flatMap(([route, [low = 0, middle = 0, all = 0]]) => [
      { labels: { route, le: '0.5' }, value: low, metricName: 'x_bucket' },
      { labels: { route, le: '1' }, value: middle, metricName: 'x_bucket' },
      { labels: { route, le: '+Inf' }, value: all, metricName: 'x_bucket' },
      { labels: { route }, value: 99, metricName: 'x_sum' },
    ]),
  })
  const node = openNode('one')
  node.set({}, [buckets({ '/a': [100, 100, 100] })])
  pass(1)
  await node.record()
  // In this minute: none up to 0.5 s, ten up to a second.
  node.set({}, [buckets({ '/a': [100, 105, 105], '/b': [0, 5, 5] })])
  pass(1)
  await node.record()
  expect(await last(2, 'latency')).toEqual([
    { p50: 0.25, p99: 0.495 },
    { p50: 0.75, p99: 0.995 },
  ])
})

test('it records when the minute of the clock changes, and goes on after a failure', async () => {
  const saved: number[] = []
  const ended = new AbortController()
  const node = openNode('one', [], async ({ at }) => {
    saved.push(at.getUTCMinutes())
    if (saved.length === 1) throw new Error('disk')
  })
  const before = logged.length
  const running = node.run(ended.signal)
  pass(1)
  await waitUntil(() => saved.length > 0)
  pass(10)
  await waitUntil(() => saved.length > 1)
  ended.abort()
  await running
  expect(saved).toEqual([0, 0])
  expect(logged.length).toBe(before + 1)
})

test('after the clock stepped back no count is lost, replaced or saved late', async () => {
  const node = openNode('one')
  pass(5)
  await node.record()
  // 12:06, back to 12:03, then on to 12:07.
  for (const [minutes, stored] of [
    [1, 2],
    [-3, 5],
    [1, 9],
    [1, 16],
    [1, 30],
    [1, 57],
  ] as const) {
    pass(minutes)
    node.set({ stored })
    await node.record()
  }
  pass(1)
  const values = (await last(6)).map(({ stored }) => stored)
  expect(values).toEqual([0, 4, 7, 2 + 14, 3 + 27, 0])
})

test('a save that hangs delays the next, so that older counts never replace newer ones', async () => {
  const hang = Promise.withResolvers<void>()
  const begun: unknown[] = []
  const node = openNode('one', [], async (minute) => {
    begun.push(minute.counts.mails)
    if (begun.length === 1) await hang.promise
    await opened.store.saveMinute(minute)
  })
  node.set({ stored: 1 })
  const first = node.record()
  node.set({ stored: 2 })
  const second = node.record()
  await new Promise(setImmediate)
  expect(begun.length).toBeLessThan(2)
  hang.resolve()
  await Promise.all([first, second])
  pass(1)
  expect(await last(1)).toEqual([{ stored: 2 }])
})
