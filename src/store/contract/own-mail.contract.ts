import { describe, expect, test } from 'vitest'
import {
  address,
  at,
  COOLDOWN,
  DAY,
  HOUR,
  head,
  host,
  MINUTE,
  newMail,
  type OpenMailStore,
  START,
} from '../../../test/kit/store/fixture.ts'
import { OPERATOR, POOL } from '../../mail/rules/session.ts'
import { claimId, ownFixture } from './own-fixture.ts'

const FOREVER = Number.POSITIVE_INFINITY
const bytes = (size: number) => ({ raw: new Uint8Array(size) })

/** Mail at domains that keys hold. */
export function ownMailContract(open: () => Promise<OpenMailStore>): void {
  const { shared, hold, claim, activate, rcpt, accept, send, create, seen, versionOf } =
    ownFixture(open)
  const change = (what: object) => shared.fixture.store.changeOwnDomain(claimId('k1'), what)

  describe('mail without a session', () => {
    test.each(['any', 'postmaster', 'abuse', 'admin', 'any+tag'])(
      'goes to the holder of the domain alone: %s',
      async (local) => {
        await hold('k1')
        expect((await send([`${local}@own.test`], 'secret')).outcome).toBe('stored')
        expect(await seen('k1')).toStrictEqual(['secret'])
        expect(await seen('k2')).toStrictEqual([])
        expect(await seen('k2', `${local}@own.test`)).toStrictEqual([])
        for (const mailbox of [POOL, OPERATOR])
          expect(await shared.fixture.subjects(mailbox)).toStrictEqual([])
      },
    )

    test('is refused while the claim is pending, and for domains below it', async () => {
      await claim('k1')
      expect(await rcpt('any@own.test')).toBe('foreign')
      await activate('k1')
      expect(await rcpt('any@sub.own.test')).toBe('foreign')
    })

    test('is taken whatever the ledger says', async () => {
      await hold('k1')
      await shared.fixture.store.saveLedger({ unknownUntil: at(DAY), reason: 'lost' })
      expect((await send(['any@own.test'], 'late')).outcome).toBe('stored')
      expect(await create('chosen@own.test', 'k1')).toBeTruthy()
    })

    test('is refused while the catch-all is off; what it has is kept', async () => {
      await hold('k1')
      await send(['any@own.test'], 'before')
      const inFlight = await accept('any@own.test')
      await change({ catchAll: false })
      expect(await rcpt('any@own.test')).toBe('unknown')
      expect(await shared.fixture.store.addMail(newMail(inFlight))).toStrictEqual({
        outcome: 'no_recipients',
      })
      expect(await seen('k1')).toStrictEqual(['before'])
      await change({ catchAll: true })
      expect((await send(['any@own.test'], 'after')).outcome).toBe('stored')
    })

    test('is not limited in number', async () => {
      await hold('k1')
      for (let n = 0; n < 8; n += 1) {
        expect((await send(['any@own.test'], `mail ${n}`)).outcome).toBe('stored')
      }
    })

    test('is found by its recipient, in pages, and changes the version', async () => {
      await hold('k1')
      await send(['ann@own.test', 'bob@own.test'], 'one')
      const before = await versionOf('k1', 'ann@own.test')
      await send(['ann@own.test'], 'two')
      expect(await versionOf('k1', 'ann@own.test')).not.toBe(before)
      expect(await seen('k1', 'ann@own.test')).toStrictEqual(['two', 'one'])
      expect(await seen('k1', 'bob@own.test')).toStrictEqual(['one'])
      expect(await seen('k1', 'eve@own.test')).toStrictEqual([])
      const { id: mailbox } = (await create('ann@own.test', 'k1')) ?? {}
      expect.assert(mailbox)
      await send(['ann@own.test'], 'three')
      expect(await seen('k1', 'ann@own.test')).toStrictEqual(['three', 'two', 'one'])
      expect(await shared.fixture.subjects(mailbox)).toStrictEqual(['three'])
    })

    test('goes nowhere if the address got a session after RCPT', async () => {
      await hold('k1')
      const inFlight = await accept('ann@own.test')
      const session = await create('ann@own.test', 'k1')
      expect.assert(session)
      expect(await shared.fixture.store.addMail(newMail(inFlight))).toStrictEqual({
        outcome: 'no_recipients',
      })
      await shared.fixture.store.endSession(session.id, at(1))
      expect(await shared.fixture.store.addMail(newMail(inFlight))).toStrictEqual({
        outcome: 'no_recipients',
      })
    })
  })

  test('an address whose session ended is refused in its cool-down, then goes to the catch-all', async () => {
    await hold('k1')
    const session = await create('ann@own.test', 'k1')
    expect.assert(session)
    const inFlight = await accept('ann@own.test')
    await shared.fixture.store.endSession(session.id, at(1))
    expect(await rcpt('ann@own.test', at(2))).toBe('unknown')
    const late = newMail(inFlight, { receivedAt: at(2) })
    expect(await shared.fixture.store.addMail(late)).toStrictEqual({ outcome: 'no_recipients' })
    await shared.fixture.sweepAll(at(2 * MINUTE))
    expect(await rcpt('ann@own.test', at(2 * MINUTE))).toBe('unknown')
    await shared.fixture.sweepAll(at(COOLDOWN + 1))
    expect((await send(['ann@own.test'], 'years later')).outcome).toBe('stored')
    expect(await seen('k1')).toStrictEqual(['years later'])
  })

  test('a suspended domain takes no mail, at RCPT or in the commit; what it has stays readable', async () => {
    await hold('k1')
    await create('ann@own.test', 'k1')
    await send(['ann@own.test', 'any@own.test'], 'before')
    const inFlight = await accept('ann@own.test', 'any@own.test')
    await change({ state: 'suspended', reason: 'record_missing' })
    for (const to of ['ann@own.test', 'any@own.test', 'postmaster@own.test'])
      expect(await rcpt(to), to).toBe('unknown')
    expect(await shared.fixture.store.addMail(newMail(inFlight))).toStrictEqual({
      outcome: 'no_recipients',
    })
    expect(await create('new@own.test', 'k1')).toBeUndefined()
    expect(await seen('k1')).toStrictEqual(['before', 'before'])
    await change({ state: 'active', reason: null })
    expect((await send(['ann@own.test', 'any@own.test'], 'after')).outcome).toBe('stored')
  })

  describe('the budget of a key', () => {
    test('is shared by sessions and catch-alls of its domains, and by nothing else', async () => {
      await hold('k1')
      await hold('k1', 'two.test')
      await hold('k2', 'other.test')
      await create('ann@own.test', 'k1')
      await shared.fixture.session('keyed@box.test', HOUR, 'k1')
      await send(['keyed@box.test'], 'elsewhere', bytes(9_000))
      await send(['ann@own.test'], 'first', bytes(9_000))
      await send(['any@own.test'], 'second', bytes(9_000))
      const more = await accept('any@two.test', 'ann@own.test')
      for (const one of more) {
        const mail = newMail([one], bytes(2_001))
        expect(await shared.fixture.store.addMail(mail)).toStrictEqual({ outcome: 'full' })
      }
      expect((await send(['any@other.test'], 'of k2', bytes(2_001))).outcome).toBe('stored')
      expect((await send(['any@two.test'], 'last', bytes(2_000))).outcome).toBe('stored')
      expect(await rcpt('any@two.test')).toBe('full')
      expect(await rcpt('ann@own.test')).toBe('full')
      expect(await rcpt('keyed@box.test')).toMatchObject({ address: 'keyed@box.test' })
    })

    test('counts each recipient of a mail', async () => {
      await hold('k1')
      await hold('k1', 'two.test')
      const to = await accept('a@own.test', 'b@own.test', 'c@two.test')
      expect(await shared.fixture.store.addMail(newMail(to, bytes(6_667)))).toStrictEqual({
        outcome: 'full',
      })
      expect(await seen('k1')).toStrictEqual([])
      expect((await shared.fixture.store.addMail(newMail(to, bytes(6_666)))).outcome).toBe('stored')
      expect(await rcpt('d@own.test', START, to)).toBe('full')
    })

    test('is never exceeded by concurrent mail', async () => {
      await hold('k1')
      const [to] = await accept('any@own.test')
      expect.assert(to)
      const stores = [shared.fixture.store, shared.fixture.other]
      const results = await Promise.all(
        Array.from({ length: 30 }, (_, n) =>
          stores[n % 2]?.addMail(newMail([to], { head: head(`${n}`), ...bytes(1_500) })),
        ),
      )
      const stored = results.filter((result) => result?.outcome === 'stored')
      expect(stored.length).toBe(13)
      expect((await seen('k1')).length).toBe(13)
    })

    test('is free again when mail is deleted or expires, or when the domain is given up', async () => {
      const fill = async () => {
        expect((await send(['any@own.test'], 'any', bytes(9_000))).outcome).toBe('stored')
        expect((await send(['ann@own.test'], 'ann', bytes(9_000))).outcome).toBe('stored')
        expect((await send(['bob@own.test'], 'bob', bytes(2_000))).outcome).toBe('stored')
        expect(await rcpt('any@own.test')).toBe('full')
      }
      await hold('k1')
      const ann = await create('ann@own.test', 'k1')
      await create('bob@own.test', 'k1', { lifeMs: FOREVER })
      expect.assert(ann)
      await fill()
      const [id = 0] = await shared.fixture.store.listMessageIds(ann.id)
      await shared.fixture.store.deleteMessages(ann.id, [id])
      expect((await send(['any@own.test'], 'in its place', bytes(9_000))).outcome).toBe('stored')
      await shared.fixture.sweepAll(at(31 * DAY))
      const again = { createdAt: at(31 * DAY) }
      expect(await create('ann@own.test', 'k1', again)).toBeTruthy()
      await fill()
      await shared.fixture.store.deleteOwnDomain(claimId('k1'), 'k1', at(31 * DAY + 1))
      await shared.fixture.sweepAll(at(32 * DAY))
      await hold('k1')
      expect((await send(['any@own.test'], 'any', bytes(20_000))).outcome).toBe('stored')
    })
  })

  describe('mail of a mailbox that stays', () => {
    test('expires by its own age, with its raw mail; that of other sessions with their sessions', async () => {
      await hold('k1')
      const kept = await create('ann@own.test', 'k1', { lifeMs: FOREVER })
      const short = await create('bob@own.test', 'k1', { lifeMs: 40 * DAY })
      expect.assert(kept && short)
      const to = ['ann@own.test', 'any@own.test', 'bob@own.test']
      for (const [days, subject] of [
        [0, 'old'],
        [1, 'young'],
      ] as const) {
        await send(to, subject, { receivedAt: at(days * DAY) })
      }
      const messages = await shared.fixture.store.listMessages(kept.id, { sinceId: 0, limit: 9 })
      await shared.fixture.sweepAll(at(30 * DAY))
      expect(await seen('k1', undefined, at(30 * DAY))).toStrictEqual([
        ...['young', 'young', 'young', 'old'],
      ])
      const [young, old] = messages
      expect.assert(young && old)
      expect(await shared.fixture.store.readRaw(young.rawId)).toBeTruthy()
      expect(await shared.fixture.subjects(short.id)).toStrictEqual(['young', 'old'])
      await shared.fixture.sweepAll(at(41 * DAY))
      expect(await seen('k1', undefined, at(41 * DAY))).toStrictEqual([])
      for (const { rawId } of [young, old])
        expect(await shared.fixture.store.readRaw(rawId)).toBeUndefined()
      expect((await send(['ann@own.test'], 'still there')).outcome).toBe('stored')
    })
  })

  test('mail that was deleted by its age is told as expired, of an address and of the catch-all', async () => {
    await hold('k1')
    await create('ann@own.test', 'k1', { lifeMs: Number.POSITIVE_INFINITY })
    await send(['ann@own.test'], 'one')
    await send(['any@own.test'], 'two')
    const now = at(31 * DAY)
    const expired = (keyId: string, to?: string, sinceId = 0) => {
      const scope = { keyId, pool: false, to: to === undefined ? undefined : address(to), now }
      return shared.fixture.other.lastExpired(scope, sinceId)
    }
    const scope = { keyId: 'k1', pool: false, to: undefined, now: START }
    const page = { sinceId: 0, beforeId: undefined, limit: 9 }
    const [two, one] = await shared.fixture.store.listKeyMail(scope, page)
    expect.assert(one && two)
    expect(await expired('k1')).toBe(0)
    await shared.fixture.sweepAll(now)
    expect(await expired('k1')).toBe(Math.max(one.id, two.id))
    expect(await expired('k1', 'ann@own.test')).toBe(one.id < two.id ? two.id : one.id)
    expect(await expired('k1', undefined, Math.max(one.id, two.id))).toBe(0)
    expect(await expired('k2')).toBe(0)
  })

  test('mails taken and refused are counted, for the holder of that time', async () => {
    await hold('k1')
    await claim('k2')
    await create('ann@own.test', 'k1')
    await send(['ann@own.test', 'any@own.test'], 'one')
    await send(['any@own.test'], 'two')
    await shared.fixture.store.countOwnRefused(host('own.test'), 2)
    const counts = async (keyId: string) => {
      const { taken, refused } = (await shared.fixture.other.findOwnDomain(claimId(keyId))) ?? {}
      return [taken, refused]
    }
    expect(await counts('k1')).toStrictEqual([3, 2])
    expect(await counts('k2')).toStrictEqual([0, 0])
    await activate('k2', { replaces: claimId('k1') })
    await send(['any@own.test'], 'three')
    expect(await counts('k1')).toStrictEqual([0, 0])
    expect(await counts('k2')).toStrictEqual([1, 0])
  })
}
