import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'vitest'
import { POOL } from '../../mail/rules/session.ts'
import { address, at, COOLDOWN, DAY, HOUR, newMail, START } from './fixture.ts'
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
      assert.equal(await rcpt('any@pool.test'), 'unknown')
      const recipients = [{ address: address('any@pool.test'), mailbox: POOL }]
      const send = (receivedAt: Date) =>
        shared.fixture.store.addMail(newMail(recipients, { receivedAt }))
      assert.equal((await send(START)).outcome, 'no_recipients')
      await shared.fixture.sweepAll(at(DAY))
      assert.equal(await rcpt('any@pool.test'), POOL)
      assert.equal((await send(START)).outcome, 'stored')
    })

    test('only a sweep ends it, which does not trust a clock that has jumped ahead', async () => {
      assert.equal(await rcpt('any@pool.test', at(2 * DAY)), 'unknown')
      assert.equal(await create('ann@box.test', at(2 * DAY)), undefined)
      await shared.fixture.sweepAll(at(DAY - 1))
      assert.deepEqual(await shared.fixture.other.readLedger(), {
        unknownUntil: at(DAY),
        reason: 'operator',
        pruned: false,
      })
      await shared.fixture.sweepAll(at(DAY))
      assert.deepEqual(await shared.fixture.other.readLedger(), {
        unknownUntil: undefined,
        reason: '',
        pruned: false,
      })
    })

    test('sessions, and the operator, receive their mail', async () => {
      const ann = await create('ann@pool.test', START, true)
      assert.equal(await rcpt('ann@pool.test'), ann?.id)
      const sent = await shared.fixture.send(['ann@pool.test', 'abuse@pool.test'])
      assert.ok(sent.outcome === 'stored')
      assert.equal(sent.recipients.length, 2)
    })

    test('only a random address is new', async () => {
      assert.equal(await create('ann@box.test'), undefined)
      assert.ok(await create('q7x@box.test', START, true))
      await shared.fixture.sweepAll(at(DAY))
      assert.ok(await create('ann@box.test'))
    })

    test('an address whose session is known is assigned again after its cool-down', async () => {
      await create('ann@box.test', at(-COOLDOWN), true)
      assert.equal(await create('ann@box.test', at(HOUR - 1)), undefined)
      assert.ok(await create('ann@box.test', at(HOUR)))
    })

    test('another thread or node sees that the operator has ended it', async () => {
      await shared.fixture.store.saveLedger({ unknownUntil: undefined, reason: '' })
      assert.equal(await rcpt('any@pool.test'), POOL)
      assert.ok(await create('ann@box.test'))
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
      assert.deepEqual(await entries(), [HMAC.check])
      assert.deepEqual(
        [await rcpt('any@pool.test'), await prepare(HMAC, { poolOff: true })],
        ['unknown', { unknownUntil: undefined, reason: '', pruned: true }],
      )
      assert.ok(await create('bob@box.test'), 'every session is known')
    })

    test('mail without a session is refused from the start on', async () => {
      assert.deepEqual(await prepare(HMAC, { poolOff: true }), {
        unknownUntil: undefined,
        reason: '',
        pruned: true,
      })
      assert.equal(await rcpt('any@pool.test'), 'unknown')
    })

    test('and on again, the ledger is unknown', async () => {
      await sweep()
      assert.deepEqual(await prepare(), {
        unknownUntil: at(UNKNOWN_MS),
        reason: 'pool',
        pruned: false,
      })
      await shared.fixture.sweepAll(at(UNKNOWN_MS))
      assert.equal(await rcpt('any@pool.test'), POOL)
    })

    test('and on again, it has the addresses of sessions', async () => {
      await sweep()
      await prepare()
      await shared.fixture.store.saveLedger({ unknownUntil: undefined, reason: '' })
      assert.deepEqual(
        [await rcpt('ann+shop@pool.test'), await rcpt('any@pool.test')],
        ['unknown', POOL],
      )
      await shared.fixture.sweepAll(at(DAY + COOLDOWN + HOUR))
      const { session, everAssigned } = await shared.fixture.other.findRecipient(
        address('ann@pool.test'),
      )
      assert.deepEqual([session, everAssigned], [undefined, true])
    })

    test('but while it is on, none is deleted', async () => {
      await sweep(false)
      assert.equal((await entries()).length, 2)
      assert.equal((await prepare()).unknownUntil, undefined)
    })
  })
}
