import { beforeAll, expect, test } from 'vitest'
import { setLanguage } from '../site/i18n.ts'
import type { Series } from './api.ts'
import { seriesData } from './series-data.ts'

beforeAll(async () => {
  await setLanguage('en')
})

const series = (changed: Partial<Series>): Series => ({
  name: 'mails',
  kind: 'count',
  unit: 'count',
  start_iso: '2026-03-01T12:00:00Z',
  step_seconds: 60,
  lines: [],
  ...changed,
})

test('the same traffic has the same rate in every range, and its total', () => {
  for (const seconds of [60, 300, 3_600]) {
    const values = [42, 42].map((rate) => (rate * seconds) / 60)
    const lines = [{ label: 'stored', values }]
    const { lines: plotted } = seriesData(series({ step_seconds: seconds, lines }), 'Mail')
    expect(plotted).toEqual([{ label: 'Stored', values: [42, 42], total: (84 * seconds) / 60 }])
  }
})

test('steps begin one after the other, and the last one has an end', () => {
  const lines = [{ label: '', values: [7, null] }]
  const data = seriesData(series({ kind: 'gauge', step_seconds: 300, lines }), 'Waiting')
  expect(data.times.map((time) => time.toISOString().slice(11, 16))).toEqual([
    '12:00',
    '12:05',
    '12:10',
  ])
  expect(data.lines).toEqual([{ label: 'Waiting', values: [7, null], total: undefined }])
})

test.each([
  ['count', 0.25, '0.25'],
  ['count', 12.5, '12.5'],
  ['count', 1234.5, '1,235'],
  ['bytes', 2_500_000, '2.5 MB'],
  ['seconds', 0.0041, '4.1 ms'],
  ['seconds', 2.5, '2,500 ms'],
] as const)('a value of %s: %d is %s', (unit, value, text) => {
  expect(seriesData(series({ unit }), '').formatValue(value)).toBe(text)
})
