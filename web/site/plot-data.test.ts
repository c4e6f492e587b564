import { beforeAll, expect, test } from 'vitest'
import { setLanguage } from './i18n.ts'
import { axisTop, type PlotData, plotRows } from './plot-data.ts'

beforeAll(async () => {
  await setLanguage('en')
})

const START = Date.parse('2026-03-01T12:00:00Z')
const HALF_HOUR = 1_800_000
const data = (lines: PlotData['lines']): PlotData => ({
  times: [0, 1, 2, 3, 4].map((step) => new Date(START + step * HALF_HOUR)),
  lines,
  formatValue: String,
})
const hour = (time: Date) => time.toISOString().slice(11, 13)

test('a row of the table has the mean of its counts, the newest is first, and totals come before', () => {
  const lines = [
    { label: 'one', values: [2, 4, 0, 1_000], total: 1_006 },
    { label: 'other', values: [1, 1, 1, 1], total: 4 },
  ]
  expect(plotRows(data(lines), hour)).toEqual([
    ['Total', '1,006', '4'],
    ['13', '500', '1'],
    ['12', '3', '1'],
  ])
})

test('of other values a row has the largest, and a dash where nothing was recorded', () => {
  const lines = [{ label: 'one', values: [null, null, 7, 3] }]
  expect(plotRows(data(lines), hour)).toEqual([
    ['13', '7'],
    ['12', '–'],
  ])
})

test.each([
  [0, true, 2],
  [1, true, 2],
  [3, true, 4],
  [5, true, 6],
  [7, true, 8],
  [9, true, 10],
  [11, true, 12],
  [21, true, 30],
  [1_234, true, 1_600],
  [0, false, 1],
  [0.25, false, 0.3],
  [2.5, false, 3],
  [48_000_000, false, 50_000_000],
])('an axis up to %d (whole numbers: %s) ends at %d', (max, isWhole, top) => {
  expect(axisTop(max, isWhole)).toBeCloseTo(top)
})
