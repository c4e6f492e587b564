import { describe, expect, test } from 'vitest'
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
