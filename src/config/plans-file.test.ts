import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { PLANS } from '../core/plan.ts'
import { plansFile, stripePrices } from './files.ts'

const folder = mkdtempSync(join(tmpdir(), 'mayfly-plans-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function written(content: unknown): string {
  const path = join(folder, 'plans.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const SMALL = { id: 'small', name: 'Small', price_cents: 100, requests: 50 }

describe('plans', () => {
  test('are ours where no file is named', () => {
    expect(plansFile('')).toBe(PLANS)
  })

  test('of a file take the place of ours, whole', () => {
    const club = { ...SMALL, id: 'club', currency: 'eur', per_day: 5, months: 1, renews: true }
    expect(plansFile(written([SMALL, { ...club, support: 'by post' }]))).toEqual([
      {
        id: 'small',
        name: 'Small',
        priceCents: 100,
        currency: 'usd',
        requests: 50,
        perDay: undefined,
        months: undefined,
        renews: false,
        support: '',
      },
      {
        id: 'club',
        name: 'Small',
        priceCents: 100,
        currency: 'eur',
        requests: 50,
        perDay: 5,
        months: 1,
        renews: true,
        support: 'by post',
      },
    ])
  })

  for (const [name, content, fault] of [
    ['no JSON', '{', /JSON list of plans/],
    ['an object', {}, /list of plans/],
    ['an empty list', [], /list of plans/],
    ['a plan that is a word', ['starter'], /plan 1 is no object/],
    ['a field we do not know', [{ ...SMALL, price: 5 }], /plan 1 has a field price/],
    ['no requests', [{ ...SMALL, requests: 0 }], /plan 1: requests must be a whole number from 1/],
    ['half a cent', [{ ...SMALL, price_cents: 0.5 }], /price_cents/],
    ['a price in text', [{ ...SMALL, price_cents: '5' }], /price_cents/],
    ['a name for machines that is none', [{ ...SMALL, id: 'Small plan' }], /plan 1: id/],
    ['a currency that is none', [{ ...SMALL, currency: 'dollar' }], /currency/],
    ['no month', [{ ...SMALL, months: 0 }], /plan 1: months must be a whole number from 1 to 1200/],
    ['more than a hundred years', [{ ...SMALL, months: 1_201 }], /months .* from 1 to 1200/],
    ['a renewal without a time', [{ ...SMALL, renews: true }], /renews, but has no months/],
    ['a renewal that is no flag', [{ ...SMALL, months: 1, renews: 'yes' }], /renews/],
    ['the same plan twice', [SMALL, SMALL], /two plans are called small/],
  ] as const) {
    test(`${name} is refused with its place`, () => {
      expect(() => plansFile(written(content))).toThrow(fault)
    })
  }

  test('may last a hundred years', () => {
    const [plan] = plansFile(written([{ ...SMALL, months: 1_200 }]))
    expect(plan?.months).toBe(1_200)
  })

  test('of a file that is not there are refused', () => {
    expect(() => plansFile(join(folder, 'nowhere.json'))).toThrow(/nowhere\.json/)
  })
})

describe('Stripe prices', () => {
  test('stand by their plans', () => {
    expect(stripePrices('starter=price_1, business=price_2')).toEqual({
      starter: 'price_1',
      business: 'price_2',
    })
    expect(stripePrices('')).toEqual({})
  })
  for (const bad of ['starter', 'starter=', '=price_1', 'a=b=c', 'starter=price_1,']) {
    test(`${bad} is refused`, () => {
      expect(() => stripePrices(bad)).toThrow(/write plan=price/)
    })
  }
})
