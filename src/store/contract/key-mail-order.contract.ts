import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  address,
  at,
  DAY,
  type Fixture,
  HOUR,
  head,
  newMail,
  type OpenMailStore,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import type { Message } from '../../mail/rules/message.ts'
import { POOL } from '../../mail/rules/session.ts'
import type { KeyScope, OrderedKeyMailPage } from '../../mail/store.ts'
import type { Store } from '../store.ts'

const KEY = 'key-mine'
const SCOPE = { keyId: KEY, pool: true, to: undefined, now: START }

/** The order in which a key sees mail: without it, since_id would skip mail. */
export function keyMailOrderContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture
  let other: Store

  beforeEach(async () => {
    fixture = await openFixture(await open())
    other = fixture.other
    await fixture.session('a@box.test', HOUR, KEY)
    await fixture.session('b@box.test', HOUR, KEY)
  })
  afterEach(() => fixture.close())

  const list = (page: Partial<OrderedKeyMailPage> = {}) =>
    other.listKeyMail(SCOPE, { sinceId: 0, beforeId: undefined, limit: 500, ...page })
  const subjects = (messages: Message[]) => messages.map((message) => message.subject)
  const numbered = (count: number) => Array.from({ length: count }, (_, index) => String(index))
  const newestFirst = (count: number) => numbered(count).toReversed()

  describe('ids across the pool and the sessions of a key', () => {
    const recipientsInTurn = [
      'a@box.test',
      'any@pool.test',
      'b@box.test',
      'b@box.test',
      'other@pool.test',
    ]

    test('rise in the order of commit, even if the clock steps back', async () => {
      for (const [index, ms] of [0, -DAY, 5, -HOUR, 3, 3, -2 * DAY, 0].entries()) {
        const to = recipientsInTurn[index % recipientsInTurn.length] ?? ''
        await fixture.send([to], { head: head(String(index)), receivedAt: at(ms) })
      }
      const all = await list()
      expect(subjects(all)).toStrictEqual(newestFirst(8))
      expect(new Set(all.map(({ id }) => id)).size).toBe(8)
      expect(all.every(({ id }) => Number.isSafeInteger(id))).toBeTruthy()
    })

    test('rise within a commit of many mails, and of one mail for many recipients', async () => {
      const mails = await Promise.all(
        numbered(10).map(async (subject) => {
          const index = Number(subject)
          const recipients = await fixture.accepted([
            recipientsInTurn[index % recipientsInTurn.length] ?? '',
          ])
          return newMail(recipients, { head: head(subject), receivedAt: at(-index * HOUR) })
        }),
      )
      await Promise.all(mails.map((mail) => fixture.store.addMail(mail)))
      expect(subjects(await list())).toStrictEqual(newestFirst(10))
      const [last] = await list({ limit: 1 })
      await fixture.send(recipientsInTurn.slice(0, 3), { receivedAt: at(-DAY) })
      const newer = await list({ sinceId: last?.id ?? 0 })
      expect(newer.map(({ recipient }) => recipient)).toStrictEqual([
        'b@box.test',
        'any@pool.test',
        'a@box.test',
      ])
    })

    test('continue after a revival', async () => {
      const { id } = await fixture.session('c@box.test', HOUR, KEY)
      await fixture.send(['any@pool.test'], { receivedAt: at(DAY) })
      const expiresAt = at(2 * HOUR)
      const cooldownMs = DAY
      await fixture.store.reviveSession({ mailbox: id, now: at(HOUR), expiresAt, cooldownMs })
      await fixture.send(['c@box.test'], { head: head('since'), receivedAt: at(HOUR) })
      expect(subjects(await list())).toStrictEqual(['since', 'hello'])
    })

    test('are independent for sessions without a key and for the operator', async () => {
      await fixture.send(['any@pool.test'], { receivedAt: at(DAY) })
      const plain = await fixture.session('plain@box.test')
      await fixture.send(['plain@box.test', 'abuse@box.test'])
      const [plainId = 0] = await other.listMessageIds(plain.id)
      const [poolId = 0] = await other.listMessageIds(POOL)
      expect(plainId, 'a private mailbox tells nothing of the pool').toBeLessThan(poolId)
      const { version, lastId } = await other.readSharedMailbox(POOL)
      await fixture.send(['plain@box.test', 'abuse@box.test'], { receivedAt: at(HOUR - 1) })
      expect([version, lastId]).toStrictEqual([1, (await other.readSharedMailbox(POOL)).lastId])
    })
  })

  describe('polling with sinceId', () => {
    test('returns each mail once, in order, while mail arrives', async () => {
      const names = numbered(40)
      for (const name of names) await fixture.session(`s${name}@box.test`, HOUR, KEY)
      let isSending = true
      // Both are in one commit: a client that saw only one of them would continue from the wrong id.
      const recipientsBySubject: Record<string, (name: string) => string[]> = {
        1: (name) => [`s${name}@box.test`, `p${name}@pool.test`],
        2: (name) => [`s${name}@box.test`, `p${name}@pool.test`],
        3: (name) => [`s${name}@box.test`],
        4: (name) => [`p${name}@pool.test`],
      }
      const sendAll = async (subject: string) => {
        // Added by two nodes concurrently, with different clocks.
        const [store, behind] =
          Number(subject) % 2 === 0 ? [fixture.store, 0] : [fixture.other, HOUR]
        for (const name of names) {
          const recipients = await fixture.accepted(recipientsBySubject[subject]?.(name) ?? [])
          const mail = { head: head(subject), receivedAt: at(-behind - Number(name)) }
          expect((await store.addMail(newMail(recipients, mail))).outcome).toBe('stored')
        }
      }
      const sending = Promise.all(Object.keys(recipientsBySubject).map(sendAll)).finally(() => {
        isSending = false
      })

      const received: Message[] = []
      const poll = async () => {
        const sinceId = received.at(-1)?.id ?? 0
        received.push(...(await list({ sinceId, limit: 7, oldestFirst: true })))
      }
      while (isSending) {
        await poll()
        await new Promise(setImmediate)
      }
      await sending
      for (let before = -1; before < received.length; await poll()) before = received.length
      expect(received).toStrictEqual((await list()).toReversed())
      expect(received.length).toBe((2 + 2 + 1 + 1) * names.length)
    })
  })

  describe('paging', () => {
    const pageThrough = async (scope: KeyScope) => {
      const ids: number[] = []
      for (let more = true; more; ) {
        const page = { sinceId: 0, beforeId: ids.at(-1), limit: 3 }
        const found = await other.listKeyMail(scope, page)
        ids.push(...found.map(({ id }) => id))
        more = found.length > 0
        // Mail that arrives meanwhile is newer than all remaining pages.
        await fixture.send([`late${ids.length}@pool.test`])
      }
      return ids
    }

    for (const [name, to, count] of [
      ['all visible mail', undefined, 17],
      ['one of its sessions', 'a@box.test', 5],
      ['a pool address', 'any@pool.test', 5],
    ] as const) {
      test(`by beforeId reaches every message once: ${name}`, async () => {
        for (const subject of numbered(5)) {
          for (const one of ['a@box.test', 'any@pool.test', 'b@box.test']) {
            await fixture.send([one], { head: head(subject) })
          }
        }
        await fixture.send(['x@pool.test', 'y@pool.test'])
        const scope = { ...SCOPE, to: to && address(to) }
        const ids = await pageThrough(scope)
        expect(new Set(ids).size).toBe(count)
        expect(ids).toStrictEqual(ids.toSorted((one, next) => next - one))
        expect(ids.length).toBe(count)
      })
    }

    test('sinceId and beforeId are both exclusive', async () => {
      for (const subject of numbered(5))
        await fixture.send(['any@pool.test'], { head: head(subject) })
      const ids = (await list()).map(({ id }) => id)
      const between = { sinceId: ids[4] ?? 0, beforeId: ids[0] }
      expect(subjects(await list(between))).toStrictEqual(['3', '2', '1'])
      expect(subjects(await list({ ...between, limit: 2 }))).toStrictEqual(['3', '2'])
    })
  })
}
