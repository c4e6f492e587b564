import { expect, test } from 'vitest'
import { formatSize } from './format-size.ts'

for (const [bytes, language, expected] of [
  [0, 'en', '0 bytes'],
  [1, 'en', '1 byte'],
  [999, 'en', '999 bytes'],
  [1_000, 'en', '1 kB'],
  [256_000, 'en', '256 kB'],
  [10_485_760, 'en', '10.5 MB'],
  [10_485_760, 'de', '10,5 MB'],
] as const) {
  test(`${bytes} in ${language} is ${expected}`, () =>
    expect(formatSize(bytes, language)).toBe(expected))
}
