import { describe, expect, test } from 'vitest'
import { addMonths, PLANS, planEnd } from './plan.ts'

const at = (text: string) => new Date(`${text}Z`)

describe('adding months', () => {
  for (const [name, from, months, to] of [
    ['one month later is the same day', '2026-03-15T12:30:45.678', 1, '2026-04-15T12:30:45.678'],
    ['a year later is the same day', '2026-03-01T00:00:00', 12, '2027-03-01T00:00:00'],
    ['a leap day becomes the 28th', '2028-02-29T23:59:59.999', 12, '2029-02-28T23:59:59.999'],
    [
      'a leap day stays a leap day after four years',
      '2028-02-29T08:00:00',
      48,
      '2032-02-29T08:00:00',
    ],
    ['2100 has no leap day', '2096-02-29T08:00:00', 48, '2100-02-28T08:00:00'],
    ['the 31st becomes the 30th', '2026-03-31T06:00:00', 1, '2026-04-30T06:00:00'],
    ['the 31st of January becomes the 28th', '2026-01-31T06:00:00', 1, '2026-02-28T06:00:00'],
    [
      'the 31st of January becomes the 29th in a leap year',
      '2028-01-31T06:00:00',
      1,
      '2028-02-29T06:00:00',
    ],
    ['the last day of February stays the 28th', '2026-02-28T06:00:00', 1, '2026-03-28T06:00:00'],
    ['December is followed by January', '2026-12-31T23:59:59', 1, '2027-01-31T23:59:59'],
    [
      'two months after the 31st of December is the 28th',
      '2026-12-31T00:00:00',
      2,
      '2027-02-28T00:00:00',
    ],
    ['ten years later is the same day', '2026-05-31T00:00:00', 120, '2036-05-31T00:00:00'],
    ['zero months is the same time', '2026-05-31T01:02:03', 0, '2026-05-31T01:02:03'],
  ] as const) {
    test(name, () => expect(addMonths(at(from), months)).toEqual(at(to)))
  }

  test('does not change the given date', () => {
    const from = at('2026-01-31T06:00:00')
    addMonths(from, 1)
    expect(from).toEqual(at('2026-01-31T06:00:00'))
  })
})

describe('a payment expires', () => {
  const paid = at('2026-03-01T12:00:00')
  test('never if the plan has no end', () =>
    expect(planEnd({ months: undefined }, paid)).toBeUndefined())
  test('at the same second, months later', () =>
    expect(planEnd({ months: 12 }, paid)).toEqual(at('2027-03-01T12:00:00')))
})

describe('the default plans', () => {
  for (const [id, price, requests, perDay, months, renews] of [
    ['starter', 500, 1_000, undefined, undefined, false],
    ['business', 4_500, 100_000, 1_000, 12, true],
  ] as const) {
    test(id, () => {
      const plan = { priceCents: price, currency: 'usd', requests, perDay, months, renews }
      expect(PLANS.find((plan) => plan.id === id)).toMatchObject(plan)
    })
  }

  test('are starter and business', () =>
    expect(PLANS.map(({ id }) => id)).toEqual(['starter', 'business']))
})
