import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addMonths } from '../shared/plan.ts'
import { GRACE_MS, type Payment, type PaymentFacts, type Settlement, settle } from './rules.ts'

const STARTER = { months: undefined }
const BUSINESS = { months: 12 }
const FIRST = new Date('2026-03-01T12:00:00Z')
const years = (count: number, from = FIRST) => addMonths(from, 12 * count)
const later = (time: Date, ms: number) => new Date(time.getTime() + ms)
const DAY = 86_400_000
const paid = (paidAt: Date, more: Partial<Payment> = {}): Payment => ({
  ref: `in_${paidAt.toISOString()}`,
  paidAt,
  refunded: 'no',
  disputed: 'no',
  ...more,
})
const UNPAID: PaymentFacts = {
  state: 'open',
  payments: [],
  renewal: 'none',
  subscriptionRef: undefined,
}
const once = (more: Partial<Payment> = {}): PaymentFacts => ({
  ...UNPAID,
  state: 'paid',
  payments: [paid(FIRST, more)],
})
const yearly = (payments: Payment[], renewal: PaymentFacts['renewal'] = 'over'): PaymentFacts => ({
  state: 'paid',
  payments,
  renewal,
  subscriptionRef: 'sub_1',
})

describe('there is no key before a payment', () => {
  for (const state of ['open', 'pending', 'failed', 'expired'] as const) {
    test(`of an order that is ${state}`, () =>
      expect(settle(BUSINESS, { ...UNPAID, state, subscriptionRef: 'sub_1' })).toEqual({
        state,
        subscriptionRef: 'sub_1',
        payments: 0,
        paidUntil: undefined,
        partlyRefunded: false,
        key: undefined,
      }))
  }
})

describe('a payment counts whatever the checkout reports afterwards', () => {
  for (const state of ['open', 'pending', 'failed', 'expired'] as const) {
    test(state, () =>
      expect(settle(STARTER, { ...once(), state })).toMatchObject({
        state: 'paid',
        key: { state: 'active' },
      }),
    )
  }
})

describe('a plan that is paid', () => {
  for (const [name, plan, facts, until] of [
    ['once never expires', STARTER, once(), undefined],
    ['for a year expires exactly a year later', BUSINESS, yearly([paid(FIRST)]), years(1)],
    ['twice expires two years later', BUSINESS, yearly([paid(FIRST), paid(years(1))]), years(2)],
    [
      'early is extended from its old expiry',
      BUSINESS,
      yearly([paid(FIRST), paid(later(FIRST, 30 * DAY))]),
      years(2),
    ],
    [
      'during the grace period is extended from its old expiry, because the key never stopped',
      BUSINESS,
      yearly([paid(FIRST), paid(later(years(1), GRACE_MS))]),
      years(2),
    ],
    [
      'after it lapsed is extended from the payment',
      BUSINESS,
      yearly([paid(FIRST), paid(later(years(1), GRACE_MS + 1))]),
      years(1, later(years(1), GRACE_MS + 1)),
    ],
    [
      'again after it once lapsed is extended from the last expiry',
      BUSINESS,
      yearly([paid(FIRST), paid(years(3)), paid(years(4))]),
      years(5),
    ],
  ] as const) {
    test(name, () =>
      expect(settle(plan, facts)).toMatchObject({
        state: 'paid',
        payments: facts.payments.length,
        paidUntil: until,
        key: { state: 'active', expiresAt: until },
      }),
    )
  }

  test('on the 31st expires on the last day of shorter months', () => {
    const start = new Date('2026-01-31T06:00:00Z')
    const payments = [0, 1, 2].map((month) => paid(addMonths(start, month)))
    expect(settle({ months: 1 }, yearly(payments)).paidUntil).toEqual(
      new Date('2026-04-30T06:00:00Z'),
    )
  })

  test('on a leap day expires on a leap day four years later', () => {
    const start = new Date('2028-02-29T06:00:00Z')
    const payments = [0, 1, 2, 3].map((year) => paid(years(year, start)))
    expect(settle(BUSINESS, yearly(payments)).paidUntil).toEqual(new Date('2032-02-29T06:00:00Z'))
  })
})

describe('a key whose renewal', () => {
  for (const [name, renewal, ends] of [
    ['is expected has an hour for the event to arrive', 'expected', later(years(1), 3_600_000)],
    ['is late has a grace period of a week', 'late', later(years(1), 7 * DAY)],
    ['is cancelled expires at the end of the paid period', 'over', years(1)],
  ] as const) {
    test(name, () =>
      expect(settle(BUSINESS, yearly([paid(FIRST)], renewal))).toMatchObject({
        state: 'paid',
        paidUntil: years(1),
        key: { state: 'active', expiresAt: ends },
      }),
    )
  }

  test('is late never expires if the plan has no end', () =>
    expect(settle(STARTER, { ...once(), renewal: 'late' }).key?.expiresAt).toBeUndefined())
})

describe('a refund or dispute', () => {
  const [year1, year2] = [paid(FIRST), paid(years(1))]
  for (const [name, facts, state, keyState, partly] of [
    ['in part is only recorded', once({ refunded: 'partly' }), 'paid', 'active', true],
    ['in full stops the key', once({ refunded: 'fully' }), 'refunded', 'stopped', false],
    [
      'in full for the current year stops the key',
      yearly([year1, { ...year2, refunded: 'fully' }]),
      'refunded',
      'stopped',
      false,
    ],
    [
      'in full for an earlier year is recorded as partial',
      yearly([{ ...year1, refunded: 'fully' }, year2]),
      'paid',
      'active',
      true,
    ],
    [
      'in part for an earlier year is recorded',
      yearly([{ ...year1, refunded: 'partly' }, year2]),
      'paid',
      'active',
      true,
    ],
    ['by an open dispute stops the key', once({ disputed: 'open' }), 'disputed', 'stopped', false],
    ['by a lost dispute stops the key', once({ disputed: 'lost' }), 'disputed', 'stopped', false],
    [
      'by a dispute about an earlier year stops the key',
      yearly([{ ...year1, disputed: 'open' }, year2]),
      'disputed',
      'stopped',
      false,
    ],
    [
      'in full with a dispute is a dispute',
      once({ refunded: 'fully', disputed: 'lost' }),
      'disputed',
      'stopped',
      false,
    ],
  ] as const) {
    test(name, () => {
      const settled = settle(facts.payments.length > 1 ? BUSINESS : STARTER, facts)
      expect(settled).toMatchObject({ state, partlyRefunded: partly, key: { state: keyState } })
    })
  }

  test('does not change the expiry of the plan: winning the dispute restores it', () => {
    const open = settle(BUSINESS, yearly([paid(FIRST, { disputed: 'open' })]))
    expect(open.key).toEqual({ state: 'stopped', expiresAt: years(1) })
    expect(settle(BUSINESS, yearly([paid(FIRST)])).key).toEqual({
      state: 'active',
      expiresAt: years(1),
    })
  })
})

const active = (expiresAt?: Date) => ({ state: 'active', expiresAt }) as const
const stopped = (expiresAt?: Date) => ({ state: 'stopped', expiresAt }) as const

/** What the provider learns, step by step, each reported by an event; and the final state of the order and its key. */
const HISTORIES: [string, PaymentFacts[], Settlement['state'], Settlement['key']][] = [
  ['paid at once', [UNPAID, once()], 'paid', active()],
  [
    'paid by a transfer that took days',
    [UNPAID, { ...UNPAID, state: 'pending' }, once()],
    'paid',
    active(),
  ],
  [
    'pending and never paid',
    [UNPAID, { ...UNPAID, state: 'pending' }, { ...UNPAID, state: 'failed' }],
    'failed',
    undefined,
  ],
  ['expired without a payment', [UNPAID, { ...UNPAID, state: 'expired' }], 'expired', undefined],
  [
    'paid and refunded',
    [once(), once({ refunded: 'partly' }), once({ refunded: 'fully' })],
    'refunded',
    stopped(),
  ],
  ['disputed and won', [once(), once({ disputed: 'open' }), once()], 'paid', active()],
  [
    'disputed and lost',
    [once(), once({ disputed: 'open' }), once({ disputed: 'lost' })],
    'disputed',
    stopped(),
  ],
  [
    'renewed late',
    [
      yearly([paid(FIRST)]),
      yearly([paid(FIRST)], 'late'),
      yearly([paid(FIRST), paid(later(years(1), 3 * DAY))]),
    ],
    'paid',
    active(years(2)),
  ],
  [
    'never renewed',
    [yearly([paid(FIRST)]), yearly([paid(FIRST)], 'late'), yearly([paid(FIRST)], 'over')],
    'paid',
    active(years(1)),
  ],
  [
    'renewed, and the first year refunded',
    [
      yearly([paid(FIRST)]),
      yearly([paid(FIRST), paid(years(1))]),
      yearly([paid(FIRST, { refunded: 'fully' }), paid(years(1))]),
    ],
    'paid',
    active(years(2)),
  ],
  [
    'renewed, and the second year refunded',
    [
      yearly([paid(FIRST), paid(years(1))]),
      yearly([paid(FIRST), paid(years(1), { refunded: 'fully' })], 'over'),
    ],
    'refunded',
    stopped(years(2)),
  ],
  [
    'renewed after it lapsed',
    [yearly([paid(FIRST)], 'over'), yearly([paid(FIRST), paid(years(2))])],
    'paid',
    active(years(3)),
  ],
]

describe('whatever the order and number of events, the final state is the same', () => {
  for (const [name, history, state, key] of HISTORIES) {
    test(name, () => {
      const plan = history.at(-1)?.subscriptionRef ? BUSINESS : STARTER
      const events = [...history.keys(), ...history.keys()]
      const delivered = fc.shuffledSubarray(events, { minLength: events.length })
      fc.assert(
        fc.property(delivered, fc.boolean(), (delivered, newestFirst) => {
          let step = 0
          let outcome: Settlement | undefined
          for (const event of delivered) {
            // An event may be late, but the facts read for it are never older than those of an earlier event.
            step = Math.max(step, event)
            const facts = history[step] ?? UNPAID
            const { payments } = facts
            const listed = newestFirst ? payments.toReversed() : payments
            outcome = settle(plan, { ...facts, payments: listed })
          }
          expect(outcome).toMatchObject({ state, key })
        }),
      )
    })
  }
})

test('the list of the provider is not modified', () => {
  const payments = [paid(years(1)), paid(FIRST)]
  settle(BUSINESS, yearly(payments))
  expect(payments.map(({ paidAt }) => paidAt)).toEqual([years(1), FIRST])
})
