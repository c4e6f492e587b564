import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  address,
  at,
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  newMail,
  newSession,
  type OpenMailStore,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import type { NewFetchedMail } from '../../gmail/store.ts'
import { parseRules } from '../../shared/address-rules.ts'

const JOE = address('joe@gmail.com')

/** Addresses that accept mail only from certain senders, or a limited number. A mailbox holds 5 messages. */
export function rulesContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture
  beforeEach(async () => {
    fixture = await openFixture(await open())
  })
  afterEach(() => fixture.close())

  let tokens = 0
  async function ruled(
    name: string,
    rules: Parameters<typeof parseRules>[0],
    more: { accountId?: number; keyId?: string } = {},
  ) {
    tokens += 1
    const session = newSession(name, {
      tokenHash: `rules-${tokens}`,
      createdAt: START,
      lifeMs: HOUR,
    })
    const created = await fixture.store.createSession({
      ...session,
      ...more,
      rules: parseRules(rules),
    })
    expect.assert(created)
    return { ...created, tokenHash: session.tokenHash }
  }
  const send = async (to: string[], address?: string) =>
    (await fixture.send(to, { from: { address } })).outcome
  const counts = (...ids: Parameters<Fixture['store']['listMessageIds']>[0][]) =>
    Promise.all(ids.map(async (id) => (await fixture.other.listMessageIds(id)).length))

  test('the rules of a session are stored with it', async () => {
    const { tokenHash } = await ruled('ann@box.test', {
      only_from: 'shop.test,a@b.test',
      max_messages: 3,
    })
    const expected = { onlyFrom: ['shop.test', 'a@b.test'], maxMessages: 3 }
    expect((await fixture.other.findSession(tokenHash))?.rules).toStrictEqual(expected)
    const facts = await fixture.other.findRecipient(address('ann@box.test'))
    expect([facts.session?.rules, facts.session?.received]).toStrictEqual([expected, 0])
    const free = await fixture.session('bob@box.test')
    expect(free.rules).toStrictEqual({ onlyFrom: [], maxMessages: undefined })
  })

  test('rules and label are changed one by one, with a new version, while the session is live', async () => {
    const { tokenHash, version } = await ruled('ann@box.test', { max_messages: 3 })
    const update = (set: Parameters<Fixture['store']['updateSession']>[0]['set'], now = START) =>
      fixture.store.updateSession({ tokenHash, now, set })
    await fixture.other.findSession(tokenHash)
    const { onlyFrom } = parseRules({ only_from: 'shop.test,a@b.test' })
    const changed = await update({ onlyFrom, label: 'Ann' })
    expect.assert(changed && changed.version > version)
    expect([changed.rules, changed.label]).toStrictEqual([{ onlyFrom, maxMessages: 3 }, 'Ann'])
    expect(await fixture.other.findSession(tokenHash)).toStrictEqual(changed)
    const cleared = await update({ onlyFrom: undefined, maxMessages: undefined })
    expect(cleared?.rules).toStrictEqual({ onlyFrom: [], maxMessages: undefined })
    expect((await update({ label: undefined }))?.label).toBeUndefined()
    expect(await update({ label: 'late' }, at(HOUR))).toBeUndefined()
  })

  test('a refused mail is counted for each refusing recipient, not if it is deferred, and changes nothing for the key', async () => {
    const ann = await ruled('ann@box.test', { only_from: 'shop.test' }, { keyId: 'key' })
    const bob = await fixture.session('bob@box.test')
    const scope = { keyId: 'key', pool: false, to: undefined, now: START }
    const before = await fixture.other.keyMailVersion(scope)
    const refused = async () =>
      Promise.all(
        [ann, bob].map(
          async ({ tokenHash }) => (await fixture.other.findSession(tokenHash))?.refused,
        ),
      )
    const both = ['ann@box.test', 'bob@box.test']
    for (let sent = 0; sent < 5; sent += 1) {
      expect.assert((await send(both, 'x@evil.test')) === 'stored')
    }
    expect(await refused()).toStrictEqual([5, 0])
    expect.assert((await send(both, 'x@evil.test')) === 'full')
    expect(await refused()).toStrictEqual([5, 0])
    await fixture.store.countRefused(ann.id)
    expect(await refused()).toStrictEqual([6, 0])
    expect(await fixture.other.keyMailVersion(scope)).toBe(before)
  })

  describe('only_from', () => {
    test('a mail whose From header was not read is refused', async () => {
      await ruled('ann@box.test', { only_from: 'shop.test' })
      const { outcome } = await fixture.send(['ann@box.test'])
      expect.assert(outcome === 'sender_not_allowed')
    })

    test('each recipient of a mail follows its own rules', async () => {
      const ann = await ruled('ann@box.test', { only_from: 'shop.test' })
      const bob = await ruled('bob@box.test', { only_from: 'other.test' })
      const cleo = await fixture.session('cleo@box.test')
      const all = ['ann@box.test', 'bob@box.test', 'cleo@box.test']
      const result = await fixture.send(all, { from: { address: 'x@mail.shop.test' } })
      expect(
        result.outcome === 'stored' && result.recipients.map(({ mailbox }) => mailbox),
      ).toStrictEqual([ann.id, cleo.id])
      expect(await counts(ann.id, bob.id, cleo.id)).toStrictEqual([1, 0, 1])
    })

    for (const from of ['x@evil.test', 'x@notshop.test', undefined]) {
      test(`a mail from ${from ?? 'nobody'} that all refuse is not stored`, async () => {
        const ann = await ruled('ann@box.test', { only_from: 'shop.test' })
        const bob = await ruled('bob@box.test', { only_from: 'a@shop.test' })
        const version = async () => (await fixture.other.findSession(ann.tokenHash))?.version
        const before = await version()
        expect.assert((await send(['ann@box.test', 'bob@box.test'], from)) === 'sender_not_allowed')
        expect(await counts(ann.id, bob.id)).toStrictEqual([0, 0])
        expect.assert((await version()) !== before, 'the number of refused mails is part of it')
        expect((await fixture.other.findSession(ann.tokenHash))?.refused).toBe(1)
      })
    }

    test('with several reasons, that of the sender is given first, then that of the limit', async () => {
      await ruled('ann@box.test', { only_from: 'shop.test' })
      await ruled('bob@box.test', { max_messages: 1 })
      const gone = await fixture.session('gone@box.test')
      expect.assert((await send(['bob@box.test'], 'x@evil.test')) === 'stored')
      const all = ['ann@box.test', 'bob@box.test', 'gone@box.test']
      const [strict, limited, ended] = await fixture.accepted(all)
      expect.assert(strict && limited && ended)
      await fixture.store.endSession(gone.id, START)
      for (const [recipients, expected] of [
        [[strict, limited, ended], 'sender_not_allowed'],
        [[ended, limited, strict], 'sender_not_allowed'],
        [[limited, ended], 'limit_reached'],
        [[ended], 'no_recipients'],
      ] as const) {
        const mail = { ...newMail([...recipients]), from: { address: 'x@evil.test' } }
        expect.assert((await fixture.store.addMail(mail)).outcome === expected)
      }
    })

    test('a refusing recipient that is full does not defer the mail of the others', async () => {
      const ann = await ruled('ann@box.test', { only_from: 'shop.test' })
      for (let sent = 0; sent < 5; sent += 1) await send(['ann@box.test'], 'x@shop.test')
      const bob = await fixture.session('bob@box.test')
      expect.assert((await send(['ann@box.test', 'bob@box.test'], 'x@evil.test')) === 'stored')
      expect.assert((await send(['ann@box.test', 'bob@box.test'], 'x@shop.test')) === 'full')
      expect(await counts(ann.id, bob.id)).toStrictEqual([5, 1])
    })
  })

  describe('max_messages', () => {
    test('counts messages ever stored, also deleted ones', async () => {
      const ann = await ruled('ann@box.test', { max_messages: 2 })
      for (const expected of ['stored', 'stored', 'limit_reached']) {
        expect.assert((await send(['ann@box.test'])) === expected)
      }
      const ids = await fixture.store.listMessageIds(ann.id)
      await fixture.store.deleteMessages(ann.id, ids)
      expect.assert((await send(['ann@box.test'])) === 'limit_reached')
      expect.assert((await fixture.other.findRecipient(ann.address)).session?.received === 2)
      expect(await counts(ann.id)).toStrictEqual([0])
    })

    test('of one mail, those with a place left get it', async () => {
      const [ann, bob] = [
        await ruled('ann@box.test', { max_messages: 1 }),
        await ruled('bob@box.test', { max_messages: 2 }),
      ]
      const both = ['ann@box.test', 'bob@box.test']
      expect([await send(both), await send(both), await send(both)]).toStrictEqual([
        'stored',
        'stored',
        'limit_reached',
      ])
      expect(await counts(ann.id, bob.id)).toStrictEqual([1, 2])
    })

    test('of many mails racing for the last place, one is stored', async () => {
      const ann = await ruled('ann@box.test', { max_messages: 1 })
      const recipients = await fixture.accepted(['ann@box.test'])
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, async (_, at) => {
          const store = at % 2 === 0 ? fixture.store : fixture.other
          return (await store.addMail(newMail(recipients))).outcome
        }),
      )
      expect(outcomes.toSorted()).toStrictEqual([...Array(19).fill('limit_reached'), 'stored'])
      expect(await counts(ann.id)).toStrictEqual([1])
    })

    test('a revived session keeps its rules and counts anew', async () => {
      const ann = await ruled('ann@box.test', { only_from: 'shop.test', max_messages: 1 })
      expect.assert((await send(['ann@box.test'], 'x@shop.test')) === 'stored')
      const [now, expiresAt] = [at(2 * HOUR), at(DAY)]
      const revival = { mailbox: ann.id, now, expiresAt, cooldownMs: COOLDOWN }
      const revived = await fixture.store.reviveSession(revival)
      expect(revived?.rules).toStrictEqual(ann.rules)
      const late = async (sender: string) =>
        (await fixture.send(['ann@box.test'], { from: { address: sender }, receivedAt: now }))
          .outcome
      expect([
        await late('x@evil.test'),
        await late('x@shop.test'),
        await late('x@shop.test'),
      ]).toStrictEqual(['sender_not_allowed', 'stored', 'limit_reached'])
    })
  })

  describe('mail fetched for aliases', () => {
    let accountId: number
    beforeEach(async () => {
      await fixture.store.addAccount(JOE)
      accountId = (await fixture.store.listAccounts(START))[0]?.id ?? 0
    })
    let uid = 40
    const fetch = async (
      to: string[],
      sender: string | undefined,
      more: Partial<NewFetchedMail> = {},
    ) => {
      uid += 1
      const found = await fixture.store.findAliases(accountId, to.map(address), START)
      const recipients = found.map((one) => ({ ...one, identity: `${uid} ${one.address}` }))
      const state = { uidValidity: 7, lastUid: uid }
      const mail = {
        ...newMail([]),
        accountId,
        folder: 'INBOX',
        uid,
        state,
        recipients,
        now: START,
      }
      return await fixture.store.addFetchedMail({ ...mail, from: { address: sender }, ...more })
    }

    test('is settled for a refusing alias, and stored for the others', async () => {
      const a = await ruled('joe+a@gmail.com', { only_from: 'shop.test' }, { accountId })
      const b = await ruled('joe+b@gmail.com', { max_messages: 1 }, { accountId })
      const both = ['joe+a@gmail.com', 'joe+b@gmail.com']
      expect.assert((await fetch(both, 'x@evil.test')).outcome === 'stored')
      expect(await counts(a.id, b.id)).toStrictEqual([0, 1])
      expect.assert((await fetch(both, 'x@evil.test')).outcome === 'refused')
      expect.assert((await fetch(both, undefined)).outcome === 'refused')
      expect.assert((await fetch(both, 'x@shop.test')).outcome === 'stored')
      expect(await counts(a.id, b.id)).toStrictEqual([1, 1])
      const folder = await fixture.store.readFolder(accountId, 'INBOX')
      expect(folder?.lastUid).toBe(uid)
    })

    test('that waits for room is offered again once the alias takes no more', async () => {
      const a = await ruled('joe+a@gmail.com', { max_messages: 2 }, { accountId })
      const large = () => ({ raw: new Uint8Array(9_000) })
      const [first, second] = [
        await fetch(['joe+a@gmail.com'], 'x@a.test', large()),
        await fetch(['joe+a@gmail.com'], 'x@a.test', large()),
      ]
      expect([first.outcome, second.outcome]).toStrictEqual(['stored', 'full'])
      const query = { accountId, folder: 'INBOX', uidValidity: 7, now: at(HOUR - 1), limit: 10 }
      const due = async () => (await fixture.store.listDeferred(query)).length
      expect.assert((await due()) === 0)
      expect.assert((await fetch(['joe+a@gmail.com'], 'x@a.test')).outcome === 'stored')
      expect.assert((await due()) === 1)
      expect(await counts(a.id)).toStrictEqual([2])
    })
  })
}
