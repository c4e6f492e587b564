import { beforeEach, describe, expect, test } from 'vitest'
import {
  address,
  at,
  COOLDOWN,
  DAY,
  HOUR,
  newMail,
  START,
} from '../../../test/kit/store/fixture.ts'
import { POOL } from '../../mail/rules/session.ts'
import { HMAC, ledgerFixture, type OpenLedgerStore, OTHER, UNKNOWN_MS } from './ledger-fixture.ts'

/** The ledger of addresses while it may lack some, and while the pool is off. */
export function unknownLedgerContract(open: () => Promise<OpenLedgerStore>): void {
  const { shared, prepare, entries, addEntries, rcpt, create } = ledgerFixture(open)

  describe('while it is unknown', () => {
    beforeEach(async () => {
      await prepare()
      await shared.fixture.store.saveLedger({ unknownUntil: at(DAY), reason: 'operator' })
    })

    test('mail without a session is refused at RCPT, and in the commit', async () => {
      expect(await rcpt('any@pool.test')).toBe('unknown')
      const recipients = [{ address: address('any@pool.test'), mailbox: POOL }]
      const send = (receivedAt: Date) =>
        shared.fixture.store.addMail(newMail(recipients, { receivedAt }))
      expect((await send(START)).outcome).toBe('no_recipients')
      await shared.fixture.sweepAll(at(DAY))
      expect(await rcpt('any@pool.test')).toBe(POOL)
      expect((await send(START)).outcome).toBe('stored')
    })

    test('only a sweep ends it, which does not trust a clock that has jumped ahead', async () => {
      expect(await rcpt('any@pool.test', at(2 * DAY))).toBe('unknown')
      expect(await create('ann@box.test', at(2 * DAY))).toBeUndefined()
      await shared.fixture.sweepAll(at(DAY - 1))
      expect(await shared.fixture.other.readLedger()).toStrictEqual({
        unknownUntil: at(DAY),
        reason: 'operator',
        pruned: false,
      })
      await shared.fixture.sweepAll(at(DAY))
      expect(await shared.fixture.other.readLedger()).toStrictEqual({
        unknownUntil: undefined,
        reason: '',
        pruned: false,
      })
    })

    test('sessions, and the operator, receive their mail', async () => {
      const ann = await create('ann@pool.test', START, true)
      expect(await rcpt('ann@pool.test')).toBe(ann?.id)
      const sent = await shared.fixture.send(['ann@pool.test', 'abuse@pool.test'])
      expect.assert(sent.outcome === 'stored')
      expect(sent.recipients.length).toBe(2)
    })

    test('only a random address is new', async () => {
      expect(await create('ann@box.test')).toBeUndefined()
      expect(await create('q7x@box.test', START, true)).toBeTruthy()
      await shared.fixture.sweepAll(at(DAY))
      expect(await create('ann@box.test')).toBeTruthy()
    })

    test('an address whose session is known is assigned again after its cool-down', async () => {
      await create('ann@box.test', at(-COOLDOWN), true)
      expect(await create('ann@box.test', at(HOUR - 1))).toBeUndefined()
      expect(await create('ann@box.test', at(HOUR))).toBeTruthy()
    })

    test('another thread or node sees that the operator has ended it', async () => {
      await shared.fixture.store.saveLedger({ unknownUntil: undefined, reason: '' })
      expect(await rcpt('any@pool.test')).toBe(POOL)
      expect(await create('ann@box.test')).toBeTruthy()
    })
  })

  describe('while the pool is off', () => {
    const sweep = async (poolOff = true) => {
      while (await shared.fixture.store.sweep({ ...shared.fixture.due(at(1)), poolOff }));
    }
    beforeEach(async () => {
      await prepare()
      await shared.fixture.session('ann@pool.test', DAY)
    })

    test('its entries are deleted, and mail without a session is refused', async () => {
      await addEntries(Array.from({ length: 2_500 }, (_, at) => OTHER.ofHash(`${at}`)))
      await sweep()
      expect(await entries()).toStrictEqual([HMAC.check])
      expect([await rcpt('any@pool.test'), await prepare(HMAC, { poolOff: true })]).toStrictEqual([
        'unknown',
        { unknownUntil: undefined, reason: '', pruned: true },
      ])
      expect(await create('bob@box.test'), 'every session is known').toBeTruthy()
    })

    test('mail without a session is refused from the start on', async () => {
      expect(await prepare(HMAC, { poolOff: true })).toStrictEqual({
        unknownUntil: undefined,
        reason: '',
        pruned: true,
      })
      expect(await rcpt('any@pool.test')).toBe('unknown')
    })

    test('and on again, the ledger is unknown', async () => {
      await sweep()
      expect(await prepare()).toStrictEqual({
        unknownUntil: at(UNKNOWN_MS),
        reason: 'pool',
        pruned: false,
      })
      await shared.fixture.sweepAll(at(UNKNOWN_MS))
      expect(await rcpt('any@pool.test')).toBe(POOL)
    })

    test('and on again, it has the addresses of sessions', async () => {
      await sweep()
      await prepare()
      await shared.fixture.store.saveLedger({ unknownUntil: undefined, reason: '' })
      expect([await rcpt('ann+shop@pool.test'), await rcpt('any@pool.test')]).toStrictEqual([
        'unknown',
        POOL,
      ])
      await shared.fixture.sweepAll(at(DAY + COOLDOWN + HOUR))
      const { session, inLedger } = await shared.fixture.other.findRecipient(
        address('ann@pool.test'),
      )
      expect([session, inLedger]).toStrictEqual([undefined, true])
    })

    test('but while it is on, none is deleted', async () => {
      await sweep(false)
      expect((await entries()).length).toBe(2)
      expect((await prepare()).unknownUntil).toBeUndefined()
    })
  })
}
