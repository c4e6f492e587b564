import { describe, expect, test } from 'vitest'
import { rollUp, type SeriesRange, type SeriesRow, seriesPoints } from './rules.ts'

const NOW = new Date('2026-03-01T12:34:56Z')
const row = (time: string, counts: SeriesRow['counts']): SeriesRow => ({
  at: Date.parse(`2026-03-01T${time}Z`),
  counts,
})
const times = (range: SeriesRange) =>
  seriesPoints('mails', [], { range, now: NOW }).map(({ at }) => at.toISOString())

test.each([
  ['1h', 60, '2026-03-01T11:34:00.000Z', '2026-03-01T12:33:00.000Z'],
  ['24h', 288, '2026-02-28T12:30:00.000Z', '2026-03-01T12:25:00.000Z'],
  ['30d', 720, '2026-01-30T12:00:00.000Z', '2026-03-01T11:00:00.000Z'],
] as const)('%s has a point for each complete step', (range, count, first, last) => {
  const all = times(range)
  expect([all.length, all.at(0), all.at(-1)]).toEqual([count, first, last])
  expect(new Set(all).size).toBe(count)
})

test.each([
  ['12:34:04.999', '12:32:00'],
  ['12:34:05.000', '12:33:00'],
])('at %s the last minute is that of %s: nodes need seconds to save one', (time, last) => {
  const now = new Date(`2026-03-01T${time}Z`)
  const points = seriesPoints('mails', [row('12:33:00', { stored: 1 })], { range: '1h', now })
  expect(points.at(-1)?.at.toISOString()).toBe(`2026-03-01T${last}.000Z`)
})

test('counts of nodes and minutes are added up, and every label is in every point', () => {
  const rows = [
    row('12:20:00', { stored: 2 }),
    row('12:20:00', { stored: 3, full: 1 }),
    row('12:24:00', { stored: 10 }),
  ]
  const points = seriesPoints('mails', rows, { range: '24h', now: NOW })
  expect(points.at(-2)?.values).toEqual({ stored: 15, full: 1 })
  expect(points.at(-1)?.values).toEqual({ stored: 0, full: 0 })
})

test('gauges of nodes are added up, of minutes the largest counts, and a gap stays empty', () => {
  const rows = [
    row('12:20:00', { '': 2 }),
    row('12:20:00', { '': 4 }),
    row('12:21:00', { '': 12 }),
    row('12:22:00', { '': 0 }),
  ]
  const points = seriesPoints('waiting', rows, { range: '24h', now: NOW })
  expect(points.slice(-2).map(({ values }) => values)).toEqual([{ '': 12 }, {}])
})

describe('quantiles', () => {
  const last = (...counts: SeriesRow['counts'][]) =>
    seriesPoints(
      'latency',
      counts.map((one) => row('12:33:00', one)),
      { range: '1h', now: NOW },
    ).at(-1)?.values

  test('are interpolated within a bucket, over all nodes', () => {
    const counts = last({ '0.01': 50, '0.1': 30 }, { '0.1': 18, '1': 2 })
    expect(counts?.['p50']).toBeCloseTo(0.01)
    expect(counts?.['p99']).toBeCloseTo(0.1 + 0.9 / 2)
  })

  test('above the last bound are the last bound', () => {
    expect(last({ '+Inf': 3, '0.1': 1, '10': 0 })).toEqual({ p50: 10, p99: 10 })
  })

  test('do not exist without requests', () => {
    expect(last({ '0.1': 0 })).toEqual({})
    expect(last()).toEqual({})
  })
})

test('an hour has the sum of its counts and the largest of its gauges', () => {
  const rows = [
    row('10:00:00', { a: 1 }),
    row('10:59:00', { a: 2, b: 9 }),
    row('11:00:00', { a: 4 }),
  ]
  expect(rollUp('mails', rows)).toEqual([
    row('10:00:00', { a: 3, b: 9 }),
    row('11:00:00', { a: 4 }),
  ])
  expect(rollUp('sessions', rows.slice(0, 2))).toEqual([row('10:00:00', { a: 2, b: 9 })])
})
