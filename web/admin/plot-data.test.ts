import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { barsOf, heightOf, type Range, type Series } from './plot-data.ts'

const START = '2026-03-01T12:00:00Z'

function series(
  kind: Series['kind'],
  stepSeconds: number,
  lines: (number | null)[][],
  start = START,
): Series {
  return {
    status: 'success',
    kind,
    unit: 'count',
    start_iso: start,
    step_seconds: stepSeconds,
    lines: lines.map((values, at) => ({ label: `line ${at}`, values })),
  }
}

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 1)
const utc = () => 0

describe('the bars of a plot', () => {
  test('of an hour are its minutes', () => {
    const bars = barsOf(series('count', 60, [numbers(60), numbers(60)]), '1h', utc)
    assert.equal(bars.length, 60)
    assert.deepEqual(bars[59], {
      start: new Date('2026-03-01T12:59:00Z'),
      end: new Date('2026-03-01T13:00:00Z'),
      values: [60, 60],
    })
  })

  for (const [range, stepSeconds, steps, starts] of [
    ['24h', 300, 288, ['11:35', '11:40', '12:00', '11:20']],
    ['30d', 3_600, 720, ['11:35', '12:35', '00:35', '00:35']],
  ] as const satisfies [Range, number, number, string[]][]) {
    test(`of ${range} begin at full hours or half days, except the first`, () => {
      const found = series('count', stepSeconds, [numbers(steps)], '2026-03-01T11:35:00Z')
      const bars = barsOf(found, range, utc)
      const times = bars.map(({ start }) => start.toISOString().slice(11, 16))
      assert.deepEqual([...times.slice(0, 3), times.at(-1)], starts)
      const end = Date.parse('2026-03-01T11:35:00Z') + steps * stepSeconds * 1000
      assert.deepEqual(bars.at(-1)?.end, new Date(end))
    })
  }

  test('begin at midnight of the time zone', () => {
    const found = series('gauge', 3_600, [numbers(48)])
    const starts = barsOf(found, '30d', () => -120).map(({ start }) => start.toISOString())
    assert.deepEqual(starts.slice(0, 2), ['2026-03-01T12:00:00.000Z', '2026-03-01T22:00:00.000Z'])
  })

  test('follow each other when the clocks go back', () => {
    const back = new Date('2026-10-25T01:00:00Z')
    const hours = series(
      'count',
      300,
      [Array.from({ length: 36 }, () => 1)],
      '2026-10-25T00:00:00Z',
    )
    const bars = barsOf(hours, '24h', (time) => (time < back ? -120 : -60))
    assert.equal(bars.length, 9)
    for (const [at, { start, end, values }] of bars.entries()) {
      assert.deepEqual(start, bars[at - 1]?.end ?? start)
      assert.deepEqual([end.getTime() - start.getTime(), values], [20 * 60_000, [0.2]])
    }
  })

  test('have the same rate for the same traffic in every range', () => {
    for (const [range, stepSeconds] of [
      ['1h', 60],
      ['24h', 300],
      ['30d', 3_600],
    ] as const) {
      const steps = Array.from({ length: 60 }, () => (42 * stepSeconds) / 60)
      const rates = barsOf(series('count', stepSeconds, [steps]), range, utc)
      assert.deepEqual(new Set(rates.flatMap(({ values }) => values)), new Set([42]), range)
    }
  })

  for (const kind of ['gauge', 'quantiles'] as const) {
    test(`show the largest value: ${kind}`, () => {
      const found = series(kind, 300, [[null, 7, 1_000, 3]])
      assert.deepEqual(barsOf(found, '24h', utc)[0]?.values, [1_000])
    })
  }

  test('are null where nothing was recorded, and none without a line', () => {
    const found = series('gauge', 300, [[null, null, null, null, 5]])
    const values = barsOf(found, '24h', utc).map((bar) => bar.values)
    assert.deepEqual(values, [[null], [5]])
    assert.deepEqual(barsOf(series('count', 60, []), '1h', utc), [])
  })
})

test('counts stand on each other, other values do not', () => {
  const bar = { start: new Date(), end: new Date(), values: [1, null, 3] }
  assert.deepEqual([heightOf('count', bar), heightOf('quantiles', bar)], [4, 3])
})
