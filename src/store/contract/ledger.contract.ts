import { describe, expect, test } from 'vitest'
import { address, at, COOLDOWN, DAY, host } from '../../../test/kit/store/fixture.ts'
import { secretHash } from '../../base/id.ts'
import { POOL } from '../../mail/rules/session.ts'
import { HMAC, ledgerFixture, type OpenLedgerStore, OTHER, UNKNOWN_MS } from './ledger-fixture.ts'

/** The ledger of addresses: its key, and what happens at a start of the service. */
export function ledgerContract(open: () => Promise<OpenLedgerStore>): void {
  const { shared, start, begin, prepare, entries, addEntries, rcpt, create } = ledgerFixture(open)

  describe('hashes of earlier versions', () => {
    const FORMER = Array.from({ length: 6_000 }, (_, at) => `former-${at}@pool.test`)
    const HASHES = FORMER.map(secretHash)

    test('become HMACs that protect the same addresses', async () => {
      await addEntries(HASHES)
      const states = await Promise.all(
        shared.opened.ledgers.map((ledger) =>
          ledger.prepareLedger({ ...start, hmac: HMAC, poolOff: false }),
        ),
      )
      for (const state of states)
        expect(state).toStrictEqual({ unknownUntil: undefined, reason: '', pruned: false })
      const expected = [HMAC.check, ...FORMER.map((text) => HMAC.of(address(text)))]
      expect((await entries()).sort()).toStrictEqual(expected.sort())
      expect([
        await rcpt('former-0@pool.test'),
        await rcpt('former-5999+tag@pool.test'),
      ]).toStrictEqual(['unknown', 'unknown'])
      expect(await rcpt('never@pool.test')).toBe(POOL)
    })

    test('are all kept when the conversion is interrupted', async () => {
      await addEntries(HASHES)
      let left = 5_500
      const failing = (hash: string) => {
        left -= 1
        if (left < 0) throw new Error('interrupted')
        return HMAC.ofHash(hash)
      }
      await expect(prepare({ ...HMAC, ofHash: failing })).rejects.toThrow(/interrupted/)
      expect((await entries()).sort()).toStrictEqual(HASHES.toSorted())
      await prepare()
      expect(await rcpt('former-5999@pool.test')).toBe('unknown')
    })
  })

  describe('at a start', () => {
    const withoutState = () => shared.opened.execute('delete from {mail}ledger_state')

    test('a new installation knows its ledger', async () => {
      await withoutState()
      await begin(true)
      await begin(false)
      expect((await prepare()).unknownUntil).toBeUndefined()
      expect([await rcpt('any@pool.test'), await entries()]).toStrictEqual([POOL, [HMAC.check]])
    })

    test('a lost ledger is unknown for the longest lifetime plus the cool-down', async () => {
      await withoutState()
      await begin(false)
      await begin(true)
      expect(await prepare()).toStrictEqual({
        unknownUntil: at(UNKNOWN_MS),
        reason: 'lost',
        pruned: false,
      })
      expect(await shared.fixture.other.readLedger()).toStrictEqual(
        await prepare(HMAC, { now: at(DAY) }),
      )
    })

    test('it is unknown for as long after the newest session, if the clock is behind', async () => {
      await shared.fixture.session('ann@pool.test')
      await withoutState()
      await begin(false, { now: at(-300 * DAY) })
      expect((await shared.fixture.store.readLedger())?.unknownUntil).toStrictEqual(at(UNKNOWN_MS))
    })

    test('the longest lifetime may be that of a domain', async () => {
      await withoutState()
      await shared.fixture.store.changeDomain(host('box.test'), {
        ttlSeconds: 90 * 86_400,
        removed: true,
      })
      await begin(false)
      expect((await prepare()).unknownUntil).toStrictEqual(at(90 * DAY + COOLDOWN))
    })

    test('restored entries are kept, although the ledger is unknown', async () => {
      await prepare()
      await shared.fixture.session('ann@pool.test')
      await withoutState()
      await begin(false)
      await prepare()
      expect((await entries()).sort()).toStrictEqual(
        [HMAC.check, HMAC.of(address('ann@pool.test'))].sort(),
      )
    })

    test('entries without a state are of a restore, even if the shop is new', async () => {
      await withoutState()
      await addEntries([secretHash('former@pool.test')])
      await begin(true)
      const { unknownUntil, reason } = await prepare()
      expect([unknownUntil, reason]).toStrictEqual([at(UNKNOWN_MS), 'lost'])
    })

    test('entries of another secret are lost, but for addresses of sessions', async () => {
      await addEntries([OTHER.check, OTHER.of(address('former@pool.test'))])
      await shared.fixture.session('ann@pool.test')
      const { unknownUntil, reason } = await prepare()
      expect([unknownUntil, reason]).toStrictEqual([at(UNKNOWN_MS), 'secret'])
      expect((await entries()).sort()).toStrictEqual(
        [HMAC.check, HMAC.of(address('ann@pool.test'))].sort(),
      )
      await shared.fixture.sweepAll(at(2 * UNKNOWN_MS))
      expect([await rcpt('ann@pool.test'), await rcpt('other@pool.test')]).toStrictEqual([
        'unknown',
        POOL,
      ])
    })

    test('entries that were deleted, with the check value, are lost, but for addresses of sessions', async () => {
      await prepare()
      await shared.fixture.session('ann@pool.test')
      await shared.opened.execute('delete from {mail}address_ledger')
      const { unknownUntil, reason } = await prepare()
      expect([unknownUntil, reason]).toStrictEqual([at(UNKNOWN_MS), 'lost'])
      expect((await entries()).sort()).toStrictEqual(
        [HMAC.check, HMAC.of(address('ann@pool.test'))].sort(),
      )
    })

    test('hashes that a restore has added to a converted ledger are converted', async () => {
      await prepare()
      await addEntries([secretHash('former@pool.test')])
      await shared.opened.execute('update {mail}ledger_state set converted = false')
      expect((await prepare()).unknownUntil).toBeUndefined()
      expect(await rcpt('former@pool.test')).toBe('unknown')
    })

    test('an unknown ledger does not become known earlier by another loss', async () => {
      await shared.fixture.store.saveLedger({
        unknownUntil: at(2 * UNKNOWN_MS),
        reason: 'operator',
      })
      await addEntries([OTHER.check])
      expect((await prepare()).unknownUntil).toStrictEqual(at(2 * UNKNOWN_MS))
    })

    test('before it, no address is known', async () => {
      await withoutState()
      expect(await shared.fixture.store.readLedger()).toBeUndefined()
      expect(await rcpt('any@pool.test')).toBe('unknown')
      expect(await create('ann@box.test')).toBeUndefined()
    })

    test('before it, the operator of a lost installation can say that addresses are missing', async () => {
      await withoutState()
      const unknown = { unknownUntil: at(DAY), reason: 'operator' } as const
      await shared.fixture.store.saveLedger(unknown)
      await begin(true)
      expect(await prepare()).toStrictEqual({ ...unknown, pruned: false })
      expect(await rcpt('any@pool.test')).toBe('unknown')
    })
  })
}
