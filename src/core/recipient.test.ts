import { describe, expect, test } from 'vitest'
import { parseAddress, parseHost } from './address.ts'
import type { MailDomain } from './mail-domain.ts'
import { type Place, place, type RecipientFacts } from './recipient.ts'
import { type MailboxId, OPERATOR, POOL } from './session.ts'

const now = new Date('2026-03-01T12:00:00.000Z')
const limits = { mailbox: { maxMessages: 10, maxBytes: 1000 }, poolMaxBytes: 5000 }
const empty = { count: 0, bytes: 0 }
const MINE = 77 as MailboxId

const domain: MailDomain = {
  id: 1,
  name: parseHost('box.test') ?? fail(),
  active: true,
  removed: false,
  sessions: true,
  reader: true,
  ttlSeconds: undefined,
}
const facts: RecipientFacts = {
  domain,
  session: undefined,
  everHeld: false,
  poolAddress: empty,
  pool: empty,
  operator: empty,
}
const live = { id: MINE, expiresAt: new Date(now.getTime() + 1), ...empty }
const over = { ...live, expiresAt: now }
const off = { ...domain, active: false }
const gone = { ...domain, removed: true }
const closed = { ...domain, reader: false }

type Case = [name: string, facts: Partial<RecipientFacts>, expected: Place, local?: string]

const tables: Record<string, Case[]> = {
  'mail for a session': [
    ['is taken while it lives', { session: live, everHeld: true }, { mailbox: MINE }],
    ['is refused from the very millisecond of its end', { session: over, everHeld: true }, no()],
    [
      'is taken where the domain was switched off meanwhile',
      { session: live, domain: off },
      { mailbox: MINE },
    ],
    [
      'is taken where the domain was removed meanwhile',
      { session: live, domain: gone },
      { mailbox: MINE },
    ],
    ['is taken where the domain has no pool', { session: live, domain: closed }, { mailbox: MINE }],
    ['is taken as the last message', { session: { ...live, count: 9 } }, { mailbox: MINE }],
    ['waits when the count is reached', { session: { ...live, count: 10 } }, full()],
    ['is taken up to the last byte', { session: { ...live, bytes: 900 } }, { mailbox: MINE }],
    ['waits when it would be a byte too much', { session: { ...live, bytes: 901 } }, full()],
    [
      'does not care how full the pool is',
      { session: live, pool: { count: 9, bytes: 9999 } },
      { mailbox: MINE },
    ],
  ],
  'mail for nobody': [
    ['goes to the pool', {}, { mailbox: POOL }],
    ['is refused where an address was ever held', { everHeld: true }, no()],
    ['is refused where the domain has no pool', { domain: closed }, no()],
    ['is refused where the domain is switched off', { domain: off }, no()],
    ['is foreign where the domain is removed', { domain: gone }, { refused: 'foreign' }],
    ['is foreign at a domain that is not ours', { domain: undefined }, { refused: 'foreign' }],
    ['is refused for a reserved name', {}, no(), 'ssl-admin'],
    ['waits when the address has its count', { poolAddress: { count: 10, bytes: 0 } }, full()],
    ['waits when the address has its bytes', { poolAddress: { count: 1, bytes: 901 } }, full()],
    [
      'is taken up to the last byte of the address',
      { poolAddress: { count: 1, bytes: 900 } },
      { mailbox: POOL },
    ],
    ['waits when the pool as a whole is full', { pool: { count: 1, bytes: 4901 } }, full()],
    [
      'is taken up to the last byte of the pool',
      { pool: { count: 99, bytes: 4900 } },
      { mailbox: POOL },
    ],
  ],
  'mail for the operator': [
    ['is kept for postmaster', {}, { mailbox: OPERATOR }, 'postmaster'],
    ['is kept for abuse', {}, { mailbox: OPERATOR }, 'abuse'],
    ['is kept where the domain has no pool', { domain: closed }, { mailbox: OPERATOR }, 'abuse'],
    ['is kept where the domain is switched off', { domain: off }, { mailbox: OPERATOR }, 'abuse'],
    ['is foreign where the domain is removed', { domain: gone }, { refused: 'foreign' }, 'abuse'],
    [
      'is foreign at a domain that is not ours',
      { domain: undefined },
      { refused: 'foreign' },
      'abuse',
    ],
    ['waits when that box is full', { operator: { count: 10, bytes: 0 } }, full(), 'postmaster'],
    ['does not fall into the pool for a spelling of it', {}, no(), 'post.master'],
  ],
}

for (const [heading, cases] of Object.entries(tables)) {
  describe(heading, () => {
    for (const [name, change, expected, local = 'ann'] of cases) {
      test(name, () => {
        const address = parseAddress(`${local}@box.test`) ?? fail()
        expect(place(address, { ...facts, ...change }, { limits, now, size: 100 })).toEqual(
          expected,
        )
      })
    }
  })
}

test('an address that was held and one at a domain without a pool are refused alike', () => {
  const address = parseAddress('ann@box.test') ?? fail()
  const held = place(address, { ...facts, everHeld: true }, { limits, now, size: 1 })
  const cooling = place(
    address,
    { ...facts, session: over, everHeld: true },
    { limits, now, size: 1 },
  )
  const never = place(address, { ...facts, domain: closed }, { limits, now, size: 1 })
  expect([held, cooling]).toEqual([never, never])
})

function no(): Place {
  return { refused: 'unknown' }
}

function full(): Place {
  return { refused: 'full' }
}

function fail(): never {
  throw new Error('a good name')
}
