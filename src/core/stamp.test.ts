import { describe, expect, test } from 'vitest'
import { isoStamp, stamp } from './time.ts'

describe('a time on the wire', () => {
  for (const [iso, text] of [
    ['2026-03-01T12:00:00.000Z', '2026-03-01 12:00:00'],
    ['2026-03-01T12:00:00.999Z', '2026-03-01 12:00:00'],
    ['2026-12-31T23:59:59.999Z', '2026-12-31 23:59:59'],
    ['2028-02-29T00:00:00.000Z', '2028-02-29 00:00:00'],
    ['2026-03-29T01:30:00.000Z', '2026-03-29 01:30:00'],
    ['1970-01-01T00:00:00.000Z', '1970-01-01 00:00:00'],
    ['2026-03-01T01:00:00.000+02:00', '2026-02-28 23:00:00'],
  ] as const) {
    test(`${iso} is ${text}, in UTC and without rounding up`, () => {
      expect(stamp(new Date(iso))).toBe(text)
      expect(isoStamp(new Date(iso))).toBe(`${text.replace(' ', 'T')}Z`)
    })
  }

  test('does not depend on where the machine stands', () => {
    const noon = new Date('2026-03-01T12:00:00Z')
    Object.assign(process.env, { TZ: 'Pacific/Kiritimati' })
    expect(noon.getDate()).toBe(2)
    expect(stamp(noon)).toBe('2026-03-01 12:00:00')
  })
})
