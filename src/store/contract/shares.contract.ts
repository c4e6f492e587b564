import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  address,
  at,
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  newMail,
  type OpenMailStore,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import { audit, operations, runOperations } from '../../../test/kit/store/shares-model.ts'
import { senderNetwork } from '../../base/ip.ts'
import { decideRecipient } from '../../mail/rules/recipient.ts'
import { OPERATOR, POOL } from '../../mail/rules/session.ts'

/** The share of a sender: 20,000 bytes of the pool, 5 messages and 10,000 bytes of the operator's mailbox. */
export const SHARE_LIMITS = {
  mailbox: { maxMessages: 100, maxBytes: 100_000 },
  poolMaxBytes: 400_000,
  ownMaxBytes: 400_000,
  maxMailBytes: 10_000,
}

export interface OpenShareStore extends OpenMailStore {
  /** Queries the database directly; `{mail}` is replaced by the prefix of its tables. */
  query(sql: string): Promise<Record<string, unknown>[]>
  /** Likewise, for statements that change rows. */
  execute(sql: string): Promise<void>
}

// More than a share allows, in messages and, at 10,000 bytes each, in bytes.
const MAX_SENT = 60

const [ann, bob, eve] = ['203.0.113.5', '198.51.100.20', '2001:db8:1::5'].map(senderNetwork)

/** How much of a shared mailbox one sender may fill. Opened with SHARE_LIMITS. `runs`: random sequences of operations. */
export function sharesContract(open: () => Promise<OpenShareStore>, runs: number): void {
  let opened: OpenShareStore
  let fixture: Fixture

  beforeEach(async () => {
    opened = await open()
    fixture = await openFixture(opened)
  })
  afterEach(() => fixture.close())

  const send = async (network: string | undefined, to: string[], raw: Uint8Array, ms = 0) =>
    (await fixture.send(to, { senderNetwork: network, raw, receivedAt: at(ms) })).outcome
  const random = (bytes: number) => new Uint8Array(randomBytes(bytes))

  /** Sends to new addresses until one is refused, but at most MAX_SENT; returns how many were accepted. */
  async function fill(
    network: string | undefined,
    raw: () => Uint8Array,
    to = (at: number) => `${network?.replace(/\W/g, '-')}-${at}@pool.test`,
  ): Promise<number> {
    for (let sent = 0; sent < MAX_SENT; sent += 1) {
      if ((await send(network, [to(sent)], raw())) === 'full') return sent
    }
    return MAX_SENT
  }

  /** The result of RCPT for a mail of this declared size. */
  async function atRcpt(network: string | undefined, to: string, size = 0) {
    const facts = await fixture.other.findRecipient(address(to), network)
    return decideRecipient(address(to), facts, { limits: SHARE_LIMITS, now: START, size })
  }

  const FULL = { refused: 'full' }
  const abuse = () => 'abuse@box.test'

  describe('the pool', () => {
    test('accepts half of its size from one sender, then mail of others up to their share', async () => {
      const size = 5_000
      const accepted = await fill(ann, () => random(size))
      expect(accepted >= 39 && accepted <= 41, `${accepted} mails of ${size} bytes`).toBeTruthy()
      expect(await atRcpt(ann, 'new@pool.test')).toStrictEqual(FULL)
      expect(await atRcpt(bob, 'new@pool.test')).toStrictEqual({ mailbox: POOL })
      expect(await fill(bob, () => random(size))).toBe(3)
      expect(await atRcpt(bob, 'new@pool.test', size)).toStrictEqual(FULL)
      expect(await send(eve, ['new@pool.test'], random(size))).toBe('stored')
    })

    test('counts bytes as stored, after compression', async () => {
      expect(await fill(ann, () => new Uint8Array(10_000))).toBe(MAX_SENT)
      expect((await fixture.store.readSharedMailbox(POOL)).bytes).toBeLessThan(MAX_SENT * 100)
    })

    test('counts a mail for each of its recipients, all or none', async () => {
      await fill(ann, () => random(10_000))
      const to = ['a', 'b', 'c', 'd'].map((name) => `${name}@pool.test`)
      expect(await send(bob, to, random(5_000))).toBe('full')
      expect(
        await opened.query(`select * from {mail}sender_share where mailbox = 1`),
      ).toStrictEqual([
        ...(await opened.query(`select * from {mail}sender_share where sender_network = '${ann}'`)),
      ])
      expect(await send(bob, to.slice(1), random(5_000))).toBe('stored')
    })

    test('has only its total limit for an exempt sender', async () => {
      const accepted = await fill(
        undefined,
        () => random(10_000),
        (at) => `x${at}@pool.test`,
      )
      expect(accepted >= 38 && accepted <= 40, `${accepted} mails`).toBeTruthy()
      expect(await opened.query('select * from {mail}sender_share')).toStrictEqual([])
    })

    test('frees the share of a sender when its mail is deleted', async () => {
      await fill(ann, () => random(10_000))
      await fill(bob, () => random(5_000))
      expect(await atRcpt(bob, 'new@pool.test', 5_000)).toStrictEqual(FULL)
      const [newest = 0] = await fixture.store.listMessageIds(POOL)
      expect((await fixture.store.deleteMessages(POOL, [newest])).messages).toBe(1)
      expect(await atRcpt(bob, 'new@pool.test', 5_000)).toStrictEqual({ mailbox: POOL })
      await fixture.sweepAll(at(DAY))
      expect(await opened.query('select * from {mail}sender_share')).toStrictEqual([])
      expect(await send(ann, ['new@pool.test'], random(5_000), DAY)).toBe('stored')
    })
  })

  describe('the operator’s mailbox', () => {
    test('accepts half of its messages from one sender, then some of others', async () => {
      expect(await fill(ann, () => random(3), abuse)).toBe(51)
      expect(await atRcpt(ann, 'postmaster@pool.test')).toStrictEqual(FULL)
      expect(await atRcpt(bob, 'postmaster@pool.test')).toStrictEqual({ mailbox: OPERATOR })
      expect(await fill(bob, () => random(3), abuse)).toBe(5)
      expect(await send(eve, ['abuse@box.test', 'postmaster@box.test'], random(3))).toBe('stored')
    })

    test('counts bytes as stored', async () => {
      expect(await fill(ann, () => new Uint8Array(10_000), abuse)).toBe(51)
      expect(await send(bob, ['abuse@box.test'], random(10_000))).toBe('stored')
    })

    test('always has room for one mail of the maximum size', async () => {
      expect(await fill(ann, () => random(9_000), abuse)).toBeLessThan(10)
      expect(await send(bob, ['abuse@box.test'], random(10_000))).toBe('stored')
      expect(await send(bob, ['abuse@box.test'], random(3))).toBe('full')
      expect(await send(eve, ['abuse@box.test'], random(4_000))).toBe('stored')
      expect(await send(eve, ['abuse@box.test'], random(4_000))).toBe('stored')
      expect(await send(eve, ['abuse@box.test'], random(4_000))).toBe('full')
    })
  })

  test('mail that version 0.1.0 stored after the migration is subtracted by its size', async () => {
    const to = ['a@pool.test', 'b@pool.test', 'abuse@box.test']
    for (let sent = 0; sent < 2; sent += 1) await send(undefined, to, new Uint8Array(3_000))
    await opened.execute(
      `update {mail}message set stored = null;
       update {mail}shared_mailbox set bytes = count * 3000`,
    )
    expect(await send(bob, to, random(3_000))).toBe('stored')
    await audit(opened.query)
    for (const mailbox of [POOL, OPERATOR]) {
      const ids = await fixture.store.listMessageIds(mailbox)
      await fixture.store.deleteMessages(mailbox, ids.slice(-1))
    }
    await audit(opened.query)
    await fixture.sweepAll(at(40 * DAY))
    await audit(opened.query)
    for (const mailbox of [POOL, OPERATOR]) {
      const { count, bytes } = await fixture.other.readSharedMailbox(mailbox)
      expect([count, bytes]).toStrictEqual([0, 0])
    }
  })

  test('mail received while the clock was ahead does not delay the expiry of later mail', async () => {
    const to = Array.from({ length: 20 }, (_, n) => ({
      address: address(`p${n}@pool.test`),
      mailbox: POOL,
    }))
    for (let sent = 0; sent < 5; sent += 1) {
      await fixture.store.addMail(newMail(to, { receivedAt: at(DAY + HOUR) }))
    }
    await send(undefined, ['any@pool.test'], random(3))
    await fixture.sweepAll(at(DAY))
    expect((await fixture.store.listMessageIds(POOL)).length).toBe(100)
    await fixture.sweepAll(at(2 * DAY + HOUR))
    await audit(opened.query)
    expect((await fixture.store.readSharedMailbox(POOL)).count).toBe(0)
  })

  describe('the sweep of what version 0.3 left', () => {
    test('passes a session whose counters are too high, although its mail is deleted', async () => {
      const { id } = await fixture.session('ann@box.test')
      const next = await fixture.session('bob@box.test', HOUR + 1)
      await send(undefined, ['bob@box.test'], random(3))
      await opened.execute(`update {mail}session set count = 700, bytes = 9 where id = ${id}`)
      const due = fixture.due(at(2 * HOUR))
      expect([await fixture.store.sweep(due), await fixture.store.sweep(due)]).toContain(false)
      expect(await fixture.store.listMessageIds(next.id)).toStrictEqual([])
      expect(await opened.query('select 1 from {mail}session where count > 0')).toStrictEqual([])
    })

    test('deletes the mail of a cleared session with it', async () => {
      await fixture.session('ann@box.test')
      await send(undefined, ['ann@box.test'], random(3))
      await opened.execute('update {mail}session set cleared = (1 = 1)')
      await fixture.sweepAll(at(HOUR + COOLDOWN))
      const left = 'select 1 from {mail}message union all select 1 from {mail}raw_mail'
      expect(await opened.query(left)).toStrictEqual([])
    })
  })

  test('mail of sessions counts towards no share', async () => {
    const { id } = await fixture.session('ann@box.test')
    for (let sent = 0; sent < 12; sent += 1) {
      expect(await send(ann, ['ann@box.test'], random(8_000))).toBe('stored')
    }
    expect((await fixture.store.listMessageIds(id)).length).toBe(12)
    expect(await opened.query('select * from {mail}sender_share')).toStrictEqual([])
  })

  test('shares equal the sums of their messages after any sequence of operations', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operations, { minLength: 5, maxLength: 25 }), async (sequence) => {
        const store = await open()
        const fresh = await openFixture(store)
        try {
          await runOperations(fresh, sequence, store.query)
        } finally {
          await fresh.close()
        }
      }),
      { numRuns: process.env['MAYFLY_TEST_LONG'] ? 50 : runs },
    )
  }, 120_000)
}
