import { expect, test } from 'vitest'
import { counter, gauge, histogram, readMetrics } from './metrics.ts'

const valuesOf = (name: string) => readMetrics().find((metric) => metric.name === name)?.values

test('a counter has a value per label', () => {
  const mails = counter('test_mails_total', 'Mails', 'outcome')
  expect(valuesOf('test_mails_total')).toEqual([])
  mails.add('stored')
  mails.add('stored', 2)
  mails.add('full')
  expect(valuesOf('test_mails_total')).toEqual([
    { labels: { outcome: 'stored' }, value: 3 },
    { labels: { outcome: 'full' }, value: 1 },
  ])
})

test('a known label is 0 before it is counted', () => {
  const refused = counter('test_refused_total', 'Refused', 'reason', ['fault'])
  expect(valuesOf('test_refused_total')).toEqual([{ labels: { reason: 'fault' }, value: 0 }])
  refused.add('fault')
  expect(valuesOf('test_refused_total')).toEqual([{ labels: { reason: 'fault' }, value: 1 }])
})

test('a gauge is read when the metrics are, and may have no value', () => {
  let free: number | undefined
  gauge('test_free_bytes', 'Free', () => free, 'min')
  expect(valuesOf('test_free_bytes')).toEqual([])
  free = 7
  expect(valuesOf('test_free_bytes')).toEqual([{ labels: {}, value: 7 }])
})

test('buckets of a histogram include their bound and all below', () => {
  const seconds = histogram('test_seconds', 'Time', 'route')
  for (const time of [0, 0.001, 0.0011, 3, 99]) seconds.observe('/a', time)
  const values = valuesOf('test_seconds') ?? []
  const buckets = values.filter(({ metricName }) => metricName === 'test_seconds_bucket')
  const counts = Object.fromEntries(buckets.map(({ labels, value }) => [labels['le'], value]))
  expect(counts).toMatchObject({ '0.0005': 1, '0.001': 2, '0.0025': 3, '2.5': 3, '10': 4 })
  expect(counts['+Inf']).toBe(5)
  expect(buckets.every(({ labels }) => labels['route'] === '/a')).toBe(true)
  expect(values.slice(-2)).toEqual([
    { labels: { route: '/a' }, value: 102.0021, metricName: 'test_seconds_sum' },
    { labels: { route: '/a' }, value: 5, metricName: 'test_seconds_count' },
  ])
})

test('a histogram without a label has none but le', () => {
  histogram('test_plain_seconds', 'Time').observe('', 1)
  const [first] = valuesOf('test_plain_seconds') ?? []
  expect(Object.keys(first?.labels ?? {})).toEqual(['le'])
})
