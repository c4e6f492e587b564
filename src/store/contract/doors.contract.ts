import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  address,
  at,
  DAY,
  type Fixture,
  HOUR,
  MINUTE,
  type OpenMailStore,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import type { MailboxId } from '../../mail/rules/session.ts'

/** Accounts of mail.tm's API. */
export function doorsContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture
  beforeEach(async () => {
    fixture = await openFixture(await open())
  })
  afterEach(() => fixture.close())

  const account = async (text = 'ann@box.test', keyId?: string) => {
    const session = await fixture.session(text, HOUR, keyId)
    const { tokenHash: sessionToken } = session
    await fixture.store.addDoorAccount({ sessionToken, password: 'salt.hash' })
    return { mailbox: session.id, sessionToken }
  }
  type Account = Awaited<ReturnType<typeof account>>
  const addToken = (owner: Account, hash: string, ms = 0) =>
    fixture.store.addDoorToken({ ...owner, hash, now: at(ms) })
  const find = (text: string, now = START) => fixture.other.findDoorAccount(address(text), now)

  test('an account is found by its address while its session is live', async () => {
    const { mailbox, sessionToken } = await account()
    const found = { mailbox, sessionToken, password: 'salt.hash' }
    expect(await find('ann@box.test')).toStrictEqual(found)
    expect(await find('bob@box.test')).toBeUndefined()
    expect(await find('ann@box.test', at(HOUR))).toBeUndefined()
    await fixture.session('bob@box.test')
    expect(await find('bob@box.test'), 'a session without a password').toBeUndefined()
  })

  test('a token leads to the token of its session', async () => {
    const ann = await account()
    expect(await addToken(ann, 'first')).toBe(true)
    expect(await fixture.other.findDoorToken('first')).toBe(ann.sessionToken)
    expect(await fixture.other.findDoorToken('other')).toBeUndefined()
  })

  test('a session has ten tokens: the oldest ends; those of others stay', async () => {
    const [ann, bob] = [await account(), await account('bob@box.test')]
    await addToken(bob, 'of bob')
    for (let count = 1; count <= 12; count += 1) await addToken(ann, `token ${count}`, count)
    const found = []
    for (let count = 1; count <= 12; count += 1) {
      if (await fixture.other.findDoorToken(`token ${count}`)) found.push(count)
    }
    expect(found).toStrictEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(await fixture.other.findDoorToken('of bob')).toBe(bob.sessionToken)
  })

  test('of concurrent sign-ins, ten remain', async () => {
    const ann = await account()
    const hashes = Array.from({ length: 20 }, (_, count) => `token ${count}`)
    await Promise.all(hashes.map((hash, ms) => addToken(ann, hash, ms)))
    const found = await Promise.all(hashes.map((hash) => fixture.other.findDoorToken(hash)))
    expect(found.filter((one) => one !== undefined)).toHaveLength(10)
  })

  test('a new token of the session ends them; the password stays', async () => {
    const ann = await account('ann@box.test', 'k1')
    await addToken(ann, 'token')
    const rolled = { keyId: 'k1', address: address('ann@box.test'), tokenHash: 'new', now: START }
    expect(await fixture.store.rollToken(rolled)).toBeTruthy()
    const sessionToken = await fixture.other.findDoorToken('token')
    expect(await fixture.other.findSession(sessionToken ?? '')).toBeUndefined()
    expect(await addToken(ann, 'late'), 'found before').toBe(false)
    expect(await find('ann@box.test')).toMatchObject({ sessionToken: 'new' })
  })

  describe('nothing is left of an account', () => {
    for (const [name, end] of [
      ['that was deleted', (mailbox: MailboxId) => fixture.store.endSession(mailbox, at(MINUTE))],
      ['that has expired', () => fixture.sweepAll(at(2 * HOUR))],
    ] as const) {
      test(name, async () => {
        const ann = await account()
        await addToken(ann, 'token')
        await fixture.send(['ann@box.test'])
        const [message] = await fixture.store.listMessages(ann.mailbox, { sinceId: 0, limit: 1 })
        const id = message?.id ?? 0
        await fixture.store.saveSeen({ mailbox: ann.mailbox, id, seen: true })
        expect(await fixture.other.listSeen(ann.mailbox, [id])).toStrictEqual([id])
        await end(ann.mailbox)
        expect(await fixture.other.findDoorToken('token')).toBeUndefined()
        expect(await fixture.other.listSeen(ann.mailbox, [id])).toStrictEqual([])
        expect(await find('ann@box.test', at(-DAY))).toBeUndefined()
      })
    }
  })

  test('only messages of the mailbox are marked as seen, and can be unmarked', async () => {
    const [ann, bob] = [await account(), await account('bob@box.test')]
    await fixture.send(['ann@box.test'])
    const [message] = await fixture.store.listMessages(ann.mailbox, { sinceId: 0, limit: 1 })
    const id = message?.id ?? 0
    await fixture.store.saveSeen({ mailbox: bob.mailbox, id, seen: true })
    expect(await fixture.other.listSeen(bob.mailbox, [id])).toStrictEqual([])
    for (const seen of [true, true, false]) {
      await fixture.store.saveSeen({ mailbox: ann.mailbox, id, seen })
      expect(await fixture.other.listSeen(ann.mailbox, [id, 1])).toStrictEqual(seen ? [id] : [])
    }
  })
}
