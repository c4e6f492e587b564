import { describe, expect, test } from 'vitest'
import { type Cost, combine, costOf, fullRate, requirementsOf } from '../bench/tools/capacity.ts'
import { growth } from '../bench/tools/soak.ts'

describe('growth is the end of the trend, of its start', () => {
  test.each<[string, number[], number]>([
    ['level', [5, 5, 5, 5], 1],
    ['level, with peaks that garbage collection leaves', [4, 6, 4, 6, 4, 6, 4, 6, 4], 1],
    ['by a tenth', [100, 102, 104, 106, 108, 110], 1.1],
    ['by half', [10, 11, 12, 13, 14, 15], 1.5],
    ['down to half', [4, 3, 2], 0.5],
  ])('%s', (_, values, expected) => expect(growth(values)).toBeCloseTo(expected))
})

describe('the model of capacity', () => {
  const nothing = combine([])
  const mail: Cost = { ...nothing, nodeCpu: 0.002, postgresCpu: 0.001, storedBytes: 2_400 }
  const poll: Cost = { ...nothing, nodeCpu: 0.0002, redisCpu: 0.0001, clientCpu: 0.0002 }
  const costs = { mail, poll }

  test('a mix costs the sum of its operations', () => {
    const cost = costOf({ mail: 1, poll: 10 }, costs)
    expect(cost.nodeCpu).toBeCloseTo(0.004)
    expect([cost.postgresCpu, cost.redisCpu, cost.clientCpu]).toStrictEqual([0.001, 0.001, 0.002])
    expect(() => costOf({ wait: 1 }, costs)).toThrow('the cost of "wait" is not known')
  })

  test('cores are full of everything that runs on them, idle nodes included', () => {
    const unit = costOf({ mail: 1, poll: 10 }, costs)
    const idle: Cost = { ...nothing, nodeCpu: 0.1, postgresCpu: 0.2 }
    expect(fullRate(unit, { cores: 2, nodes: 3, idle })).toBeCloseTo(1.5 / 0.008)
  })

  test('a day is planned for three times its average rate, with cores half full', () => {
    const required = requirementsOf(86_400_000, costOf({ mail: 1, poll: 10 }, costs))
    expect(required.mailsPerSecond).toBe(3_000)
    expect(required.nodeCores).toBeCloseTo(24)
    expect(required.postgresCores).toBeCloseTo(6)
    expect(required.storedBytes).toBeCloseTo(86_400_000 * 2_400 * (25 / 24))
  })
})
