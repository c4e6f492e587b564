import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { heightOf, type Series, stepsOf } from './plot-data.ts'

const START = '2026-03-01T12:00:00Z'

function series(kind: Series['kind'], ...lines: (number | null)[][]): Series {
  return {
    status: 'success',
    kind,
    unit: 'count',
    start_iso: START,
    step_seconds: 60,
    lines: lines.map((values, at) => ({ label: `line ${at}`, values })),
  }
}

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 1)
const first = (kind: Series['kind'], values: (number | null)[]) =>
  stepsOf(series(kind, values))[0]?.values

describe('the steps of a plot', () => {
  test('are those of the series, if these are few', () => {
    const steps = stepsOf(series('count', numbers(60), numbers(60)))
    assert.equal(steps.length, 60)
    assert.deepEqual(steps[59], {
      start: new Date('2026-03-01T12:59:00Z'),
      end: new Date('2026-03-01T13:00:00Z'),
      values: [60, 60],
    })
  })

  for (const [kind, expected] of [
    ['count', 10],
    ['gauge', 2.5],
    ['quantiles', 4],
  ] as const) {
    test(`are merged, if they are many: ${kind}`, () => {
      assert.deepEqual(first(kind, numbers(288)), [expected])
      assert.equal(stepsOf(series(kind, numbers(288))).length, 72)
    })
  }

  test('cover the whole range, the last one with what is left', () => {
    const steps = stepsOf(
      series(
        'count',
        Array.from({ length: 721 }, () => 1),
      ),
    )
    assert.equal(
      steps.reduce((sum, step) => sum + (step.values[0] ?? 0), 0),
      721,
    )
    assert.deepEqual(steps.at(-1)?.end, new Date(Date.parse(START) + 721 * 60_000))
  })

  test('are null where nothing was recorded, and none without a line', () => {
    const [none, some] = [Array.from({ length: 80 }, () => null), [null, 6, ...numbers(78)]]
    assert.deepEqual(first('gauge', none), [null])
    assert.deepEqual(first('gauge', some), [6])
    assert.deepEqual(stepsOf(series('count')), [])
  })
})

test('counts stand on each other, other values do not', () => {
  const step = { start: new Date(), end: new Date(), values: [1, null, 3] }
  assert.deepEqual([heightOf('count', step), heightOf('quantiles', step)], [4, 3])
})
