import { describe, expect, test } from 'vitest'
import { describeFinding, fuzz } from './kit/fuzz/fuzz.ts'
import { inputOf } from './kit/fuzz/mutate.ts'

describe('inputs', () => {
  const seeds = [Buffer.from('MAIL FROM:<a@b.test> SIZE=10'), Buffer.from('RCPT TO:<c@d.test>')]
  const material = { seeds, tokens: ['DATA'], maxBytes: 40 }
  const inputs = Array.from({ length: 2_000 }, (_, number) => String(inputOf(material, number)))

  test('start with the seeds, are always the same, and differ from each other', () => {
    expect(inputs.slice(0, 2)).toEqual(seeds.map(String))
    expect(inputs.map((_, number) => String(inputOf(material, number)))).toEqual(inputs)
    expect(new Set(inputs).size).toBeGreaterThan(1_500)
  })

  test('are never longer than the limit, and have words and numbers that are not in the seeds', () => {
    expect(Math.max(...inputs.map(({ length }) => length))).toBe(40)
    for (const part of ['DATA', 'SIZE=4294967296']) {
      expect(
        inputs.some((input) => input.includes(part)),
        part,
      ).toBe(true)
    }
  })
})

test('an error, an input that hangs and one that costs too much are found, and minimised', async () => {
  const target = new URL('./kit/fuzz/targets/planted.ts', import.meta.url)
  const { inputs, findings } = await fuzz(target, { first: 0, count: 63 })
  expect(inputs).toBe(63)
  const found = findings.map(({ kind, number, input }) => [kind, number, String(input)])
  expect(found).toEqual([
    ['hangs', 0, 'hang'],
    ['throws', 61, 'throw'],
    ['slow', 62, 'slow'],
  ])
})

test('a finding is printed so that it can be kept as a test', () => {
  const input = Buffer.from('\xff"', 'latin1')
  const finding = { kind: 'throws' as const, number: 7, input, message: 'Error: no' }
  expect(describeFinding('mime', finding)).toBe(
    'mime, input 7, throws: Error: no\n  "ÿ\\"", latin1',
  )
})
