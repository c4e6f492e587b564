import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Address } from '../base/address.ts'
import { keyScope } from '../keys/emails/emails.ts'
import type { MailboxId } from '../mail/rules/session.ts'
import { type DeliverDeps, deliverNext, newPosition } from './deliver.ts'
import type { WebhookChange } from './rules.ts'
import type { Position } from './store.ts'
import { openWebhookFixture, type WebhookFixture } from './testing/fixture.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NEW_MAIL = { waitMs: undefined }
const NOW = { waitMs: 0 }
const NO_CHANGE: WebhookChange = {
  url: undefined,
  to: undefined,
  from: undefined,
  subject: undefined,
  clear: [],
  state: undefined,
}

let fixture: WebhookFixture
beforeEach(async () => {
  fixture = await openWebhookFixture()
})
afterEach(async () => {
  await fixture.close()
  expect(fixture.logged).toStrictEqual([])
})

describe('a webhook', () => {
  test('waits as the schedule says, longer if Retry-After does, and is disabled after five days', async () => {
    const { id: keyId } = await fixture.issue()
    const id = await fixture.hook(keyId)
    await fixture.mail.session('long@box.test', 30 * DAY, keyId)
    await fixture.send('1', 'long@box.test')
    fixture.receiver.state.behaviour = 500
    const waits: (number | undefined)[] = []
    for (let count = 0; count < 7; count += 1) {
      const { waitMs = 0 } = await fixture.run(id)
      waits.push(waitMs / SECOND)
      fixture.pass(waitMs)
    }
    expect(waits).toStrictEqual([5, 30, 120, 600, 1_800, 3_600, 3_600])
    fixture.receiver.state.headers = { 'retry-after': '86400' }
    for (let days = 0; days < 5; days += 1) {
      expect(await fixture.run(id)).toStrictEqual({ waitMs: DAY })
      fixture.pass(DAY)
    }
    expect(await fixture.run(id)).toStrictEqual(NEW_MAIL)
    expect((await fixture.read(id)).disabled).toBe('failing')
    fixture.receiver.state.behaviour = 200
    await fixture.shop.enableWebhook(id)
    await fixture.run(id)
    expect(fixture.receiver.received.length).toBe(14)
    expect(await fixture.used(keyId)).toBe(1)
  })

  test('is disabled by 410', async () => {
    const { id: keyId } = await fixture.issue()
    const id = await fixture.hook(keyId)
    await fixture.send('1')
    fixture.receiver.state.behaviour = 410
    await fixture.run(id)
    expect((await fixture.read(id)).disabled).toBe('gone')
    // The receiver has it; enabled again, it gets it for the same request.
    expect(await fixture.used(keyId)).toBe(1)
    fixture.receiver.state.behaviour = 200
    await fixture.shop.enableWebhook(id)
    await fixture.run(id)
    expect(fixture.receiver.subjects()).toStrictEqual(['1', '1'])
    expect(await fixture.used(keyId)).toBe(1)
  })

  test('makes no further attempt once its key is stopped, and keeps the request charged', async () => {
    let id = ''
    fixture.receiver.state.behaviour = 500
    await fixture.issueRefunded(async (keyId) => {
      id = await fixture.hook(keyId)
      await fixture.send('1')
      await fixture.run(id)
    })
    const { keyId } = await fixture.read(id)
    fixture.pass(HOUR)
    expect(await fixture.run(id)).toStrictEqual({ waitMs: MINUTE })
    expect([await fixture.paused(id), await fixture.used(keyId)]).toStrictEqual(['plan_expired', 1])
    fixture.pass(DAY)
    await fixture.mail.sweepAll(fixture.clock.now)
    expect(await fixture.run(id)).toStrictEqual(NEW_MAIL)
    const { pending: skipped, gapSince } = await fixture.read(id)
    expect([skipped, gapSince !== undefined, await fixture.used(keyId)]).toStrictEqual([
      undefined,
      true,
      1,
    ])
    expect(fixture.receiver.received.length).toBe(1)
  })

  test('is not disabled by one failure after a replay, however long it has been quiet', async () => {
    const { id: keyId } = await fixture.issue()
    const id = await fixture.hook(keyId)
    fixture.receiver.state.behaviour = 500
    await fixture.send('1')
    await fixture.run(id)
    fixture.pass(6 * DAY)
    await fixture.mail.sweepAll(fixture.clock.now)
    expect(await fixture.run(id)).toStrictEqual(NEW_MAIL)
    await fixture.shop.replayWebhook(id, 0)
    await fixture.send('2')
    expect(await fixture.run(id)).toStrictEqual({ waitMs: 5 * SECOND })
    expect((await fixture.read(id)).disabled).toBeUndefined()
  })

  for (const [name, change, isSent] of [
    ['sends a message that is unchanged', async () => {}, true],
    [
      'does not send a message that was deleted',
      (mailbox: MailboxId) => fixture.mail.store.endSession(mailbox, fixture.clock.now),
      false,
    ],
    [
      'does not send a message of a revoked key',
      (_: MailboxId, keyId: string) => fixture.shop.revokeKey(keyId),
      false,
    ],
  ] as const) {
    test(`${name} after slow parsing`, async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      const { id: mailbox } = await fixture.mail.session('own@box.test', HOUR, keyId)
      await fixture.send('1', 'own@box.test')
      let isFirst = true
      const deps: DeliverDeps = {
        ...fixture.deps,
        async event(...message) {
          const body = await fixture.deps.event(...message)
          if (isFirst) {
            fixture.pass(SECOND)
            await change(mailbox, keyId)
          }
          isFirst = false
          return body
        },
      }
      expect(await deliverNext(deps, id)).toStrictEqual(NOW)
      expect(fixture.receiver.received.length).toBe(0)
      while ((await deliverNext(deps, id)).waitMs === 0);
      const sent = isSent ? 1 : 0
      expect([fixture.receiver.received.length, await fixture.used(keyId)]).toStrictEqual([sent, 1])
    })
  }

  describe('changed while its mail is listed', () => {
    /** Changes the webhook after it and its mail were read. */
    async function changedDuring(id: string, change: Partial<WebhookChange>, position: Position) {
      const { store, now } = fixture.deps
      const changing = {
        ...store,
        async listKeyMail(...page: Parameters<typeof store.listKeyMail>) {
          const listed = await store.listKeyMail(...page)
          await fixture.other.changeWebhook(id, { ...NO_CHANGE, ...change }, now())
          return listed
        },
      }
      return await deliverNext({ ...fixture.deps, store: changing }, id, { position })
    }

    test('examines this mail again, but none of before', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId, { subject: 'old' })
      const position = newPosition()
      const look = () => deliverNext(fixture.deps, id, { position })
      await fixture.send('new 1')
      expect(await look()).toStrictEqual(NEW_MAIL)
      await fixture.send('new 2')
      expect(await changedDuring(id, { subject: 'new' }, position)).toStrictEqual(NEW_MAIL)
      while ((await look()).waitMs === 0);
      expect(fixture.receiver.subjects()).toStrictEqual(['new 2'])
    })

    test('charges and posts nothing that is not selected any more', async () => {
      const { id: keyId } = await fixture.issue()
      const id = await fixture.hook(keyId)
      await fixture.send('1', 'a@pool.test')
      const to = 'b@pool.test' as Address
      const url = `${fixture.receiver.url}new`
      const position = newPosition()
      expect(await changedDuring(id, { url, to }, position)).toStrictEqual(NOW)
      expect(await deliverNext(fixture.deps, id, { position })).toStrictEqual(NEW_MAIL)
      expect([fixture.receiver.received.length, await fixture.used(keyId)]).toStrictEqual([0, 0])
    })
  })

  test('delivers a mail to several addresses once for each, with its own id and address', async () => {
    const { id: keyId } = await fixture.issue()
    const { id: otherKey } = await fixture.issue()
    await fixture.mail.session('own@box.test', HOUR, keyId)
    const addresses = ['a@pool.test', 'b@pool.test', 'own@box.test']
    await fixture.send('1', addresses)
    const told = async (key: string) => {
      fixture.receiver.received.length = 0
      await fixture.run(await fixture.hook(key))
      return fixture.receiver.received.map(({ event }) => event.data)
    }
    const own = await told(keyId)
    expect(own.map(({ address }) => address).sort()).toStrictEqual(addresses)
    expect(new Set(own.map(({ id }) => id)).size).toBe(3)
    expect(await told(otherKey)).toStrictEqual(
      own.filter(({ address }) => address !== 'own@box.test'),
    )
  })

  test('parses again after a failure', async () => {
    const { id: keyId } = await fixture.issue()
    const ids = [await fixture.hook(keyId), await fixture.hook(keyId)]
    await fixture.send('1')
    fixture.parses.error = new Error('no parser')
    const failed = await Promise.allSettled(ids.map((id) => fixture.run(id)))
    expect(failed.map(({ status }) => status)).toStrictEqual(['rejected', 'rejected'])
    fixture.parses.error = undefined
    for (const id of ids) await fixture.run(id)
    expect(fixture.receiver.subjects()).toStrictEqual(['1', '1'])
  })

  test('shares the parsed mail with other webhooks and retries; it is not stored', async () => {
    const { id: keyId } = await fixture.issue()
    const ids = [await fixture.hook(keyId), await fixture.hook(keyId)]
    await fixture.send('1')
    fixture.receiver.state.behaviour = 500
    await Promise.all(ids.map((id) => fixture.run(id)))
    fixture.pass(HOUR)
    await Promise.all(ids.map((id) => fixture.run(id)))
    expect([fixture.receiver.received.length, fixture.parses.count]).toStrictEqual([4, 1])
    const scope = keyScope(fixture.deps, { keyId, to: undefined })
    const page = { sinceId: 0, beforeId: undefined, limit: 1 }
    const [message] = await fixture.mail.store.listKeyMail(scope, page)
    expect(await fixture.mail.store.readParsedJson(message?.rawId ?? 0)).toBeUndefined()
  })
})
