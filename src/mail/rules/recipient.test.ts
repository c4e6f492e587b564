import { describe, expect, test } from 'vitest'
import { type MailDomain, parseAddress, parseHost } from '../../base/address.ts'
import { NO_RULES } from '../../shared/address-rules.ts'
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
  ownMaxBytes: 5000,
  maxMailBytes: 100,
}
const empty = { count: 0, bytes: 0 }
const SESSION_MAILBOX = 77 as MailboxId

const domain: MailDomain = {
  id: 1,
  name: parseHost('box.test') ?? fail(),
  wildcard: false,
  active: true,
  removed: false,
  sessions: true,
  reader: true,
  ttlSeconds: undefined,
}
const facts: RecipientFacts = {
  domain,
  session: undefined,
  inLedger: false,
  ledger: { unknownUntil: undefined },
  poolAddress: empty,
  pool: empty,
  operator: empty,
  senderShare: undefined,
}
const live = {
  id: SESSION_MAILBOX,
  expiresAt: new Date(now.getTime() + 1),
  rules: NO_RULES,
  received: 0,
  ...empty,
}
const expired = { ...live, expiresAt: now }
const inactive = { ...domain, active: false }
const removed = { ...domain, removed: true }
const withoutPool = { ...domain, reader: false }

type Case = [
  name: string,
  facts: Partial<RecipientFacts>,
  expected: RecipientDecision,
  local?: string,
]

const tables: Record<string, Case[]> = {
  'mail for a session': [
    [
      'is accepted while the session is live',
      { session: live, inLedger: true },
      { mailbox: SESSION_MAILBOX },
    ],
    [
      'is refused from the millisecond of its expiry',
      { session: expired, inLedger: true },
      refusedAsUnknown(),
    ],
    [
      'is accepted if the domain has been deactivated since',
      { session: live, domain: inactive },
      { mailbox: SESSION_MAILBOX },
    ],
    [
      'is accepted if the domain has been removed since',
      { session: live, domain: removed },
      { mailbox: SESSION_MAILBOX },
    ],
    [
      'is accepted if the domain has no pool',
      { session: live, domain: withoutPool },
      { mailbox: SESSION_MAILBOX },
    ],
    [
      'is accepted as the last message',
      { session: { ...live, count: 9 } },
      { mailbox: SESSION_MAILBOX },
    ],
    ['is deferred at the message limit', { session: { ...live, count: 10 } }, full()],
    [
      'is accepted up to the last byte',
      { session: { ...live, bytes: 900 } },
      { mailbox: SESSION_MAILBOX },
    ],
    ['is deferred one byte beyond the limit', { session: { ...live, bytes: 901 } }, full()],
    [
      'is accepted however full the pool is',
      { session: live, pool: { count: 9, bytes: 9999 } },
      { mailbox: SESSION_MAILBOX },
    ],
  ],
  'mail for an unassigned address': [
    ['goes to the pool', {}, { mailbox: POOL }],
    ['is refused if the address was ever assigned', { inLedger: true }, refusedAsUnknown()],
    [
      'is refused while the ledger is unknown',
      { ledger: { unknownUntil: now } },
      refusedAsUnknown(),
    ],
    ['is refused if the domain has no pool', { domain: withoutPool }, refusedAsUnknown()],
    ['is refused if the domain is inactive', { domain: inactive }, refusedAsUnknown()],
    ['is foreign if the domain is removed', { domain: removed }, { refused: 'foreign' }],
    ['is foreign at an unknown domain', { domain: undefined }, { refused: 'foreign' }],
    ['is refused for a reserved name', {}, refusedAsUnknown(), 'ssl-admin'],
    [
      'is deferred at the message limit of the address',
      { poolAddress: { count: 10, bytes: 0 } },
      full(),
    ],
    [
      'is deferred beyond the byte limit of the address',
      { poolAddress: { count: 1, bytes: 901 } },
      full(),
    ],
    [
      'is accepted up to the last byte of the address',
      { poolAddress: { count: 1, bytes: 900 } },
      { mailbox: POOL },
    ],
    ['is deferred if the whole pool is full', { pool: { count: 1, bytes: 4901 } }, full()],
    [
      'is accepted up to the last byte of the pool',
      { pool: { count: 99, bytes: 4900 } },
      { mailbox: POOL },
    ],
  ],
  'mail for the operator': [
    ['is accepted for postmaster', {}, { mailbox: OPERATOR }, 'postmaster'],
    ['is accepted for abuse', {}, { mailbox: OPERATOR }, 'abuse'],
    [
      'is accepted if the domain has no pool',
      { domain: withoutPool },
      { mailbox: OPERATOR },
      'abuse',
    ],
    ['is accepted if the domain is inactive', { domain: inactive }, { mailbox: OPERATOR }, 'abuse'],
    ['is foreign if the domain is removed', { domain: removed }, { refused: 'foreign' }, 'abuse'],
    ['is foreign at an unknown domain', { domain: undefined }, { refused: 'foreign' }, 'abuse'],
    [
      'is deferred if the operator mailbox is full',
      { operator: { count: 10, bytes: 0 } },
      full(),
      'postmaster',
    ],
    ['does not go to the pool under a similar spelling', {}, refusedAsUnknown(), 'post.master'],
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
    [
      'does not apply to a mailbox that is at most half full',
      at(500, 50_000),
      at(500, 50_000),
      100,
      true,
    ],
    ['applies above half of the messages', at(501, 0), at(50, 0), 1, false],
    ['is 5 % of the messages', at(501, 0), at(49, 0), 1, true],
    ['applies above half of the bytes', at(9, 50_001), at(1, 4_900), 101, false],
    ['is 5 % of the bytes', at(9, 50_001), at(1, 4_900), 100, true],
    ['of bytes does not apply while only messages are scarce', at(501, 0), at(1, 9_000), 200, true],
    ['of messages does not apply while only bytes are scarce', at(60, 50_001), at(51, 9), 1, true],
    ['always has room for one mail of any size', at(501, 50_001), at(0, 0), 9_000, true],
    ['does not apply to exempt senders', at(999, 99_000), undefined, 1_000, true],
    ['does not extend the limit of the mailbox', at(1_000, 0), at(0, 0), 1, false],
    [
      'does not extend the limit of the mailbox for exempt senders',
      at(1, 99_999),
      undefined,
      2,
      false,
    ],
  ]
  for (const [name, level, held, stored, fits] of cases) {
    test(name, () => {
      expect(fitsSharedMailbox(level, held, { limits: budget, maxMailBytes: 200, stored })).toBe(
        fits,
      )
    })
  }

  test('of a small mailbox has room for one mail of the maximum size', () => {
    const small = { maxMessages: 10, maxBytes: 1_000 }
    const room = (held: MailboxUsage, stored: number) =>
      fitsSharedMailbox(at(3, 501), held, { limits: small, maxMailBytes: 200, stored })
    expect([room(at(1, 60), 140), room(at(1, 60), 141)]).toEqual([true, false])
    const sameSize = { limits: small, maxMailBytes: 200, stored: 1 }
    expect(fitsSharedMailbox(at(6, 0), at(1, 1), sameSize)).toBe(false)
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
    expect(decide([{ address: bob ?? fail(), mailbox: SESSION_MAILBOX }])).toEqual({
      mailbox: POOL,
    })
  })

  function at(count: number, bytes: number): MailboxUsage {
    return { count, bytes }
  }
})

test('an expired address and one at a domain without a pool are refused alike', () => {
  const address = parseAddress('ann@box.test') ?? fail()
  const assigned = decideRecipient(address, { ...facts, inLedger: true }, { limits, now, size: 1 })
  const inCooldown = decideRecipient(
    address,
    { ...facts, session: expired, inLedger: true },
    { limits, now, size: 1 },
  )
  const unassigned = decideRecipient(
    address,
    { ...facts, domain: withoutPool },
    { limits, now, size: 1 },
  )
  expect([assigned, inCooldown]).toEqual([unassigned, unassigned])
})

function refusedAsUnknown(): RecipientDecision {
  return { refused: 'unknown' }
}

function full(): RecipientDecision {
  return { refused: 'full' }
}

function fail(): never {
  throw new Error('a good name')
}
