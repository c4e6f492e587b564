import { describe, expect, test } from 'vitest'
import { type MailDomain, parseAddress, parseHost } from './address.ts'
import {
  decideRecipient,
  fitsSharedMailbox,
  type MailboxUsage,
  type Recipient,
  type RecipientDecision,
  type RecipientFacts,
} from './recipient.ts'
import { type MailboxId, OPERATOR, POOL } from './session.ts'

const now = new Date('2026-03-01T12:00:00.000Z')
const limits = {
  mailbox: { maxMessages: 10, maxBytes: 1000 },
  poolMaxBytes: 5000,
  maxMailBytes: 100,
}
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
  everAssigned: false,
  poolAddress: empty,
  pool: empty,
  operator: empty,
  senderShare: undefined,
}
const live = { id: MINE, expiresAt: new Date(now.getTime() + 1), ...empty }
const over = { ...live, expiresAt: now }
const off = { ...domain, active: false }
const gone = { ...domain, removed: true }
const closed = { ...domain, reader: false }

type Case = [
  name: string,
  facts: Partial<RecipientFacts>,
  expected: RecipientDecision,
  local?: string,
]

const tables: Record<string, Case[]> = {
  'mail for a session': [
    ['is taken while it lives', { session: live, everAssigned: true }, { mailbox: MINE }],
    [
      'is refused from the very millisecond of its end',
      { session: over, everAssigned: true },
      no(),
    ],
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
    ['is refused where an address was ever held', { everAssigned: true }, no()],
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
        expect(
          decideRecipient(address, { ...facts, ...change }, { limits, now, size: 100 }),
        ).toEqual(expected)
      })
    }
  })
}

describe('the share of a sender', () => {
  // 5 % are 50 messages and 5,000 bytes; the largest mail is 200 bytes.
  const budget = { maxMessages: 1_000, maxBytes: 100_000 }
  const cases: [
    name: string,
    level: MailboxUsage,
    held: MailboxUsage | undefined,
    stored: number,
    fits: boolean,
  ][] = [
    ['does not apply to a mailbox that is half full', at(500, 50_000), at(500, 50_000), 100, true],
    ['applies above half of the messages', at(501, 0), at(50, 0), 1, false],
    ['lets a sender hold 5 % of the messages', at(501, 0), at(49, 0), 1, true],
    ['applies above half of the bytes', at(9, 50_001), at(1, 4_900), 101, false],
    ['lets a sender hold 5 % of the bytes', at(9, 50_001), at(1, 4_900), 100, true],
    ['of bytes does not apply while only messages run out', at(501, 0), at(1, 9_000), 200, true],
    ['of messages does not apply while only bytes run out', at(60, 50_001), at(51, 9), 1, true],
    ['has room for one mail of any size', at(501, 50_001), at(0, 0), 9_000, true],
    ['does not apply to exempt senders', at(999, 99_000), undefined, 1_000, true],
    ['is no room beyond the budget', at(1_000, 0), at(0, 0), 1, false],
    ['is no room beyond the budget for exempt senders', at(1, 99_999), undefined, 2, false],
  ]
  for (const [name, level, held, stored, fits] of cases) {
    test(name, () => {
      expect(fitsSharedMailbox(level, held, { limits: budget, maxMailBytes: 200, stored })).toBe(
        fits,
      )
    })
  }

  test('of a small mailbox fits one mail of the largest size', () => {
    const small = { maxMessages: 10, maxBytes: 1_000 }
    const room = (held: MailboxUsage, stored: number) =>
      fitsSharedMailbox(at(3, 501), held, { limits: small, maxMailBytes: 200, stored })
    expect([room(at(1, 60), 140), room(at(1, 60), 141)]).toEqual([true, false])
    const many = { limits: small, maxMailBytes: 200, stored: 1 }
    expect(fitsSharedMailbox(at(6, 0), at(1, 1), many)).toBe(false)
  })

  test('of the pool is measured in bytes as stored, the limit of an address as received', () => {
    const address = parseAddress('ann@box.test') ?? fail()
    const inPool = { pool: at(9, 2_501), senderShare: { pool: at(1, 200), operator: empty } }
    const decide = (change: Partial<RecipientFacts>, stored: number) =>
      decideRecipient(address, { ...facts, ...change }, { limits, now, size: 900, stored })
    expect(decide(inPool, 50)).toEqual({ mailbox: POOL })
    expect(decide(inPool, 51)).toEqual(full())
    expect(decide({ poolAddress: at(1, 101) }, 50)).toEqual(full())
  })

  test('counts the other recipients of the same mail, each once', () => {
    const [ann, bob] = ['ann@box.test', 'bob@box.test'].map((text) => parseAddress(text) ?? fail())
    const half = { pool: at(9, 2_501), senderShare: { pool: at(1, 60), operator: empty } }
    const decide = (others: Recipient[]) =>
      decideRecipient(ann ?? fail(), { ...facts, ...half }, { limits, now, size: 100, others })
    expect(decide([{ address: ann ?? fail(), mailbox: POOL }])).toEqual({ mailbox: POOL })
    expect(decide([{ address: bob ?? fail(), mailbox: OPERATOR }])).toEqual({ mailbox: POOL })
    expect(decide([{ address: bob ?? fail(), mailbox: POOL }])).toEqual(full())
    expect(decide([{ address: bob ?? fail(), mailbox: MINE }])).toEqual({ mailbox: POOL })
  })

  function at(count: number, bytes: number): MailboxUsage {
    return { count, bytes }
  }
})

test('an expired address and one at a domain without a pool are refused alike', () => {
  const address = parseAddress('ann@box.test') ?? fail()
  const held = decideRecipient(address, { ...facts, everAssigned: true }, { limits, now, size: 1 })
  const cooling = decideRecipient(
    address,
    { ...facts, session: over, everAssigned: true },
    { limits, now, size: 1 },
  )
  const never = decideRecipient(address, { ...facts, domain: closed }, { limits, now, size: 1 })
  expect([held, cooling]).toEqual([never, never])
})

function no(): RecipientDecision {
  return { refused: 'unknown' }
}

function full(): RecipientDecision {
  return { refused: 'full' }
}

function fail(): never {
  throw new Error('a good name')
}
