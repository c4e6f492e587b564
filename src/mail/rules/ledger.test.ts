import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { type Address, type MailDomain, parseHost } from '../../base/address.ts'
import { secretHash } from '../../base/id.ts'
import {
  HMAC_LENGTH,
  knownAgainAt,
  type LedgerReason,
  ledgerKey,
  ledgerWarning,
  openLedgerHmac,
} from './ledger.ts'

const NOW = new Date('2026-03-01T12:00:00Z')
const DAY = 86_400_000
const ANN = 'ann@box.test' as Address
const secret = new Uint8Array(32).fill(3)
const { of, ofHash, check } = openLedgerHmac(ledgerKey(secret))

test('an entry is 128 bits of an HMAC over the hash that earlier versions kept', () => {
  const key = createHmac('sha256', secret).update('["ledger"]').digest()
  const expected = createHmac('sha256', key).update(secretHash(ANN)).digest().subarray(0, 16)
  expect(of(ANN)).toBe(expected.toString('base64url'))
  expect(ofHash(secretHash(ANN))).toBe(of(ANN))
  expect(of(ANN)).toHaveLength(HMAC_LENGTH)
  expect(secretHash(ANN)).not.toHaveLength(HMAC_LENGTH)
})

test('with another secret, every entry and the check differ', () => {
  const other = openLedgerHmac(ledgerKey(new Uint8Array(32).fill(4)))
  expect(other.of(ANN)).not.toBe(of(ANN))
  expect(other.check).not.toBe(check)
})

const DOMAIN: MailDomain = {
  id: 1,
  name: parseHost('box.test') as MailDomain['name'],
  wildcard: false,
  active: false,
  removed: true,
  sessions: false,
  reader: false,
  ttlSeconds: undefined,
}
const LIFETIMES = { sessionSeconds: 86_400, anonymousMaxSeconds: 7 * 86_400 }

test.each([
  ['the longest with a key', 30, 1, undefined, 60],
  ['the default, if it is longer', 1, 40, undefined, 70],
  ['that of a domain, although it was removed', 30, 1, 100, 130],
])(
  'a ledger is known again after a lifetime and the cool-down: %s',
  (_name, max, days, ttl, known) => {
    const lifetimes = {
      ...LIFETIMES,
      sessionSeconds: days * 86_400,
      maxSessionSeconds: max * 86_400,
    }
    const domain = { ...DOMAIN, ttlSeconds: ttl && ttl * 86_400 }
    const again = knownAgainAt(NOW, { lifetimes, cooldownMs: 30 * DAY }, [DOMAIN, domain])
    expect(again).toEqual(new Date(NOW.getTime() + known * DAY))
  },
)

test.each([
  ['lost', 'restored from a backup'],
  ['secret', 'shop.db was replaced'],
  ['pool', 'while the pool was off'],
  ['operator', 'the operator said so'],
] as const)('the warning names the reason and the end: %s', (reason: LedgerReason, text) => {
  const state = { unknownUntil: new Date(NOW.getTime() + DAY), reason, pruned: false }
  expect(ledgerWarning(state)).toContain(text)
  expect(ledgerWarning(state)).toContain('until 2026-03-02 12:00:00 UTC')
  expect(ledgerWarning({ ...state, unknownUntil: undefined })).toBeUndefined()
})
