import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { LEDGER_KEY } from '../../../test/support/address-ledger.ts'
import { secretHash } from '../../core/id.ts'
import { ledgerKey, openLedgerHmac } from '../../core/ledger.ts'
import { decideRecipient } from '../../core/recipient.ts'
import { POOL } from '../../core/session.ts'
import type { ledgerTransactions } from '../mail/ledger.ts'
import type { SyncMethods } from '../operation.ts'
import {
  address,
  at,
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  host,
  newMail,
  newSession,
  openFixture,
  START,
} from './fixture.ts'
import type { OpenShareStore } from './shares.contract.ts'

type Methods = SyncMethods<typeof ledgerTransactions>
type LedgerMethods = {
  [Name in keyof Methods]: (
    ...args: Parameters<Methods[Name]>
  ) => ReturnType<Methods[Name]> | Promise<ReturnType<Methods[Name]>>
}

export interface OpenLedgerStore extends OpenShareStore {
  /** Its methods, as two nodes call them at their start. */
  ledgers: readonly [LedgerMethods, LedgerMethods]
}

const HMAC = openLedgerHmac(LEDGER_KEY)
const OTHER = openLedgerHmac(ledgerKey(new Uint8Array(32).fill(9)))
const LIFETIMES = { sessionSeconds: 60, anonymousMaxSeconds: 60, maxSessionSeconds: 20 * 86_400 }
const UNKNOWN_MS = 20 * DAY + COOLDOWN
const RECEIVE_LIMITS = {
  mailbox: { maxMessages: 5, maxBytes: 10_000 },
  poolMaxBytes: 20_000,
  maxMailBytes: 1_000,
}

/** The ledger of addresses: its key, what happens at a start of the service, and while it is unknown. */
export function ledgerContract(open: () => Promise<OpenLedgerStore>): void {
  let opened: OpenLedgerStore
  let fixture: Fixture
  beforeEach(async () => {
    opened = await open()
    fixture = await openFixture(opened)
  })
  afterEach(() => fixture.close())

  const start = { now: START, lifetimes: LIFETIMES, cooldownMs: COOLDOWN }
  const begin = (isNew: boolean, more = {}) =>
    opened.ledgers[0].beginLedger({ ...start, isNew, ...more })
  const prepare = async (hmac = HMAC, more = {}) =>
    await opened.ledgers[0].prepareLedger({ ...start, hmac, poolOff: false, ...more })
  const entries = async () =>
    (await opened.query('select hmac from {mail}address_ledger')).map(({ hmac }) => String(hmac))
  const addEntries = (list: readonly string[]) =>
    opened.execute(
      `insert into {mail}address_ledger values ${list.map((entry) => `('${entry}')`).join()}`,
    )

  /** The mailbox that mail is accepted for at RCPT, or why it is refused. */
  const rcpt = async (text: string, now = START) => {
    const facts = await fixture.other.findRecipient(address(text))
    const found = decideRecipient(address(text), facts, { limits: RECEIVE_LIMITS, now, size: 1 })
    return 'refused' in found ? found.refused : found.mailbox
  }
  const create = (text: string, createdAt = START, isRandom = false) =>
    fixture.store.createSession({
      ...newSession(text, { tokenHash: `token of ${text} ${createdAt}`, createdAt, lifeMs: HOUR }),
      isRandom,
    })

  describe('hashes of earlier versions', () => {
    const FORMER = Array.from({ length: 6_000 }, (_, at) => `former-${at}@pool.test`)
    const HASHES = FORMER.map(secretHash)

    test('become HMACs that protect the same addresses', async () => {
      await addEntries(HASHES)
      const states = await Promise.all(
        opened.ledgers.map((ledger) =>
          ledger.prepareLedger({ ...start, hmac: HMAC, poolOff: false }),
        ),
      )
      for (const state of states)
        assert.deepEqual(state, { unknownUntil: undefined, reason: '', pruned: false })
      const expected = [HMAC.check, ...FORMER.map((text) => HMAC.of(address(text)))]
      assert.deepEqual((await entries()).sort(), expected.sort())
      assert.deepEqual(
        [await rcpt('former-0@pool.test'), await rcpt('former-5999+tag@pool.test')],
        ['unknown', 'unknown'],
      )
      assert.equal(await rcpt('never@pool.test'), POOL)
    })

    test('are all kept when the conversion is interrupted', async () => {
      await addEntries(HASHES)
      let left = 5_500
      const failing = (hash: string) => {
        left -= 1
        if (left < 0) throw new Error('interrupted')
        return HMAC.ofHash(hash)
      }
      await assert.rejects(prepare({ ...HMAC, ofHash: failing }), /interrupted/)
      assert.deepEqual((await entries()).sort(), HASHES.toSorted())
      await prepare()
      assert.equal(await rcpt('former-5999@pool.test'), 'unknown')
    })
  })

  describe('at a start', () => {
    const withoutState = () => opened.execute('delete from {mail}ledger_state')

    test('a new installation knows its ledger', async () => {
      await withoutState()
      await begin(true)
      await begin(false)
      assert.equal((await prepare()).unknownUntil, undefined)
      assert.deepEqual([await rcpt('any@pool.test'), await entries()], [POOL, [HMAC.check]])
    })

    test('a lost ledger is unknown for the longest lifetime plus the cool-down', async () => {
      await withoutState()
      await begin(false)
      await begin(true)
      assert.deepEqual(await prepare(), {
        unknownUntil: at(UNKNOWN_MS),
        reason: 'lost',
        pruned: false,
      })
      assert.deepEqual(await fixture.other.readLedger(), await prepare(HMAC, { now: at(DAY) }))
    })

    test('the longest lifetime may be that of a domain', async () => {
      await withoutState()
      await fixture.store.changeDomain(host('box.test'), { ttlSeconds: 90 * 86_400, removed: true })
      await begin(false)
      assert.deepEqual((await prepare()).unknownUntil, at(90 * DAY + COOLDOWN))
    })

    test('restored entries are kept, although the ledger is unknown', async () => {
      await prepare()
      await fixture.session('ann@pool.test')
      await withoutState()
      await begin(false)
      await prepare()
      assert.deepEqual(
        (await entries()).sort(),
        [HMAC.check, HMAC.of(address('ann@pool.test'))].sort(),
      )
    })

    test('entries of another secret are lost, but for addresses of sessions', async () => {
      await addEntries([OTHER.check, OTHER.of(address('former@pool.test'))])
      await fixture.session('ann@pool.test')
      const { unknownUntil, reason } = await prepare()
      assert.deepEqual([unknownUntil, reason], [at(UNKNOWN_MS), 'secret'])
      assert.deepEqual(
        (await entries()).sort(),
        [HMAC.check, HMAC.of(address('ann@pool.test'))].sort(),
      )
      await fixture.sweepAll(at(2 * UNKNOWN_MS))
      const late = at(2 * UNKNOWN_MS)
      assert.deepEqual(
        [await rcpt('ann@pool.test', late), await rcpt('other@pool.test', late)],
        ['unknown', POOL],
      )
    })

    test('entries that were deleted, with the check value, are lost, but for addresses of sessions', async () => {
      await prepare()
      await fixture.session('ann@pool.test')
      await opened.execute('delete from {mail}address_ledger')
      const { unknownUntil, reason } = await prepare()
      assert.deepEqual([unknownUntil, reason], [at(UNKNOWN_MS), 'lost'])
      assert.deepEqual(
        (await entries()).sort(),
        [HMAC.check, HMAC.of(address('ann@pool.test'))].sort(),
      )
    })

    test('hashes that a restore has added to a converted ledger are converted', async () => {
      await prepare()
      await addEntries([secretHash('former@pool.test')])
      await opened.execute('update {mail}ledger_state set converted = false')
      assert.equal((await prepare()).unknownUntil, undefined)
      assert.equal(await rcpt('former@pool.test'), 'unknown')
    })

    test('an unknown ledger does not become known earlier by another loss', async () => {
      await fixture.store.saveLedger({ unknownUntil: at(2 * UNKNOWN_MS), reason: 'operator' })
      await addEntries([OTHER.check])
      assert.deepEqual((await prepare()).unknownUntil, at(2 * UNKNOWN_MS))
    })

    test('before it, no address is known', async () => {
      await withoutState()
      assert.equal(await fixture.store.readLedger(), undefined)
      assert.equal(await rcpt('any@pool.test'), 'unknown')
      assert.equal(await create('ann@box.test'), undefined)
      assert.equal(await fixture.store.saveLedger({ unknownUntil: undefined, reason: '' }), false)
    })
  })

  describe('while it is unknown', () => {
    beforeEach(async () => {
      await prepare()
      await fixture.store.saveLedger({ unknownUntil: at(DAY), reason: 'operator' })
    })

    test('mail without a session is refused at RCPT, and in the commit', async () => {
      assert.equal(await rcpt('any@pool.test'), 'unknown')
      const recipients = [{ address: address('any@pool.test'), mailbox: POOL }]
      const send = (receivedAt: Date) => fixture.store.addMail(newMail(recipients, { receivedAt }))
      assert.equal((await send(at(DAY - 1))).outcome, 'no_recipients')
      assert.equal(await rcpt('any@pool.test', at(DAY)), POOL)
      assert.equal((await send(at(DAY))).outcome, 'stored')
    })

    test('sessions, and the operator, receive their mail', async () => {
      const ann = await create('ann@pool.test', START, true)
      assert.equal(await rcpt('ann@pool.test'), ann?.id)
      const sent = await fixture.send(['ann@pool.test', 'abuse@pool.test'])
      assert.ok(sent.outcome === 'stored')
      assert.equal(sent.recipients.length, 2)
    })

    test('only a random address is new', async () => {
      assert.equal(await create('ann@box.test', at(DAY - 1)), undefined)
      assert.ok(await create('q7x@box.test', at(DAY - 1), true))
      assert.ok(await create('ann@box.test', at(DAY)))
    })

    test('an address whose session is known is assigned again after its cool-down', async () => {
      await create('ann@box.test', at(-COOLDOWN), true)
      assert.equal(await create('ann@box.test', at(HOUR - 1)), undefined)
      assert.ok(await create('ann@box.test', at(HOUR)))
    })

    test('another thread or node sees that the operator has ended it', async () => {
      await fixture.store.saveLedger({ unknownUntil: undefined, reason: '' })
      assert.equal(await rcpt('any@pool.test'), POOL)
      assert.ok(await create('ann@box.test'))
    })
  })

  describe('while the pool is off', () => {
    const sweep = async (poolOff = true) => {
      while (await fixture.store.sweep({ ...fixture.due(at(1)), poolOff }));
    }
    beforeEach(async () => {
      await prepare()
      await fixture.session('ann@pool.test', DAY)
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
      assert.equal(await rcpt('any@pool.test', at(UNKNOWN_MS)), POOL)
    })

    test('but while it is on, none is deleted', async () => {
      await sweep(false)
      assert.equal((await entries()).length, 2)
      assert.equal((await prepare()).unknownUntil, undefined)
    })
  })
}
