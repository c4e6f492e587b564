import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import type { AddMailResult } from '../../mail/store.ts'
import type { Mail } from '../../shared/mail.ts'
import {
  at,
  DAY,
  type Fixture,
  HOUR,
  head,
  newMail,
  type OpenMailStore,
  openFixture,
  START,
} from './fixture.ts'

/** Storing, reading and deleting mail. */
export function messagesContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture

  beforeEach(async () => {
    fixture = await openFixture(await open())
  })
  afterEach(() => fixture.close())

  describe('mail', () => {
    test('added mail is visible to every later read', async () => {
      const ann = await fixture.session('ann@box.test')
      await fixture.other.findSession(ann.tokenHash)
      for (const subject of ['one', 'two', 'three']) {
        assert.deepEqual(await fixture.send(['ann@box.test'], { head: head(subject) }), {
          outcome: 'stored',
          recipients: [{ address: ann.address, mailbox: ann.id, keyId: undefined }],
        } satisfies AddMailResult)
        assert.equal((await fixture.subjects(ann.id, fixture.other))[0], subject)
      }
      const seen = await fixture.other.findSession(ann.tokenHash)
      assert.ok(seen && seen.version > ann.version)
      assert.equal(seen.count, 3)
    })

    test('raw mail is returned byte for byte, with its envelope', async () => {
      const { id } = await fixture.session('ann@box.test')
      for (const raw of [
        new Uint8Array(0),
        Uint8Array.from({ length: 2000 }, (_, n) => (n * 7) % 256),
      ]) {
        const mail = newMail(await fixture.accepted(['ann@box.test']), { raw: raw.slice() })
        await fixture.store.addMail(mail)
        const [newest] = await fixture.store.listMessages(id, { sinceId: 0, limit: 1 })
        const message = await fixture.store.findMessage(id, newest?.id ?? 0)
        const stored = await fixture.store.readRaw(message?.rawId ?? 0)
        assert.deepEqual(
          { ...stored, bytes: new Uint8Array(stored?.bytes ?? []) },
          {
            ...mail.envelope,
            receivedAt: START,
            bytes: raw,
          },
        )
        assert.deepEqual([message?.size, message?.recipient], [raw.length, 'ann@box.test'])
      }
    })

    test('ids increase in the order of commit, even if the clock steps back', async () => {
      const { id } = await fixture.session('ann@box.test')
      const recipients = await fixture.accepted(['ann@box.test'])
      const sent = [0, -DAY, 5, -HOUR].map((ms, index) => {
        const mail = { head: head(String(index)), receivedAt: at(ms) }
        return fixture.store.addMail(newMail(recipients, mail))
      })
      await Promise.all(sent)
      const list = await fixture.store.listMessages(id, { sinceId: 0, limit: 100 })
      assert.deepEqual(
        list.map((message) => message.subject),
        ['3', '2', '1', '0'],
      )
      assert.ok(list.every((message) => Number.isSafeInteger(message.id)))
      assert.deepEqual(
        await fixture.store.listMessageIds(id),
        list.map((message) => message.id),
      )
    })

    test('a page is between sinceId and beforeId, and ends at the limit', async () => {
      const { id } = await fixture.session('ann@box.test')
      for (const subject of ['1', '2', '3', '4'])
        await fixture.send(['ann@box.test'], { head: head(subject) })
      const ids = await fixture.store.listMessageIds(id)
      const page = await fixture.store.listMessages(id, { sinceId: ids[3] ?? 0, limit: 2 })
      assert.deepEqual(
        page.map((message) => message.subject),
        ['4', '3'],
      )
      const [, second, , oldest = 0] = ids
      const next = { sinceId: oldest, beforeId: second, limit: 2 }
      assert.deepEqual(
        (await fixture.store.listMessages(id, next)).map((message) => message.subject),
        ['2'],
      )
    })

    test('raw mail for several mailboxes is kept until the last message is deleted', async () => {
      const [ann, bob] = [
        await fixture.session('ann@box.test'),
        await fixture.session('bob@box.test'),
      ]
      await fixture.send(['ann@box.test', 'bob@box.test'])
      const [annMessageId = 0] = await fixture.store.listMessageIds(ann.id)
      const [bobMessageId = 0] = await fixture.store.listMessageIds(bob.id)
      const rawId = (await fixture.store.findMessage(bob.id, bobMessageId))?.rawId ?? 0
      assert.equal(await fixture.store.deleteMessage(ann.id, annMessageId), true)
      assert.ok(await fixture.store.readRaw(rawId))
      assert.equal(await fixture.store.deleteMessage(bob.id, bobMessageId), true)
      assert.equal(await fixture.store.readRaw(rawId), undefined)
    })

    test('a session cannot read or delete the mail of another', async () => {
      const [ann, bob] = [
        await fixture.session('ann@box.test'),
        await fixture.session('bob@box.test'),
      ]
      await fixture.send(['bob@box.test'])
      const [bobMessageId = 0] = await fixture.store.listMessageIds(bob.id)
      assert.equal(await fixture.store.findMessage(ann.id, bobMessageId), undefined)
      assert.equal(await fixture.store.deleteMessage(ann.id, bobMessageId), false)
      assert.equal((await fixture.store.listMessageIds(bob.id)).length, 1)
    })

    test('deleting frees space and changes the version', async () => {
      const ann = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'])
      const before = await fixture.other.findSession(ann.tokenHash)
      const [id = 0] = await fixture.store.listMessageIds(ann.id)
      await fixture.store.deleteMessage(ann.id, id)
      const after = await fixture.other.findSession(ann.tokenHash)
      assert.deepEqual([after?.count, after?.bytes], [0, 0])
      assert.ok(after && before && after.version > before.version)
      assert.equal(await fixture.store.deleteMessage(ann.id, id), false)
    })

    test('of ten concurrent deletions of one message, one succeeds', async () => {
      const ann = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'])
      const [id = 0] = await fixture.store.listMessageIds(ann.id)
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          (at % 2 === 0 ? fixture.store : fixture.other).deleteMessage(ann.id, id),
        ),
      )
      assert.equal(results.filter(Boolean).length, 1)
      assert.deepEqual((await fixture.store.findSession(ann.tokenHash))?.count, 0)
    })

    test('a parsed mail is stored and deleted with its raw mail', async () => {
      const { id } = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'])
      const [messageId = 0] = await fixture.store.listMessageIds(id)
      const rawId = (await fixture.store.findMessage(id, messageId))?.rawId ?? 0
      assert.equal(await fixture.store.readParsedJson(rawId), undefined)
      await fixture.store.saveParsed(rawId, PARSED)
      const json = await fixture.other.readParsedJson(rawId)
      assert.deepEqual(JSON.parse(String(json)), PARSED)
      await fixture.store.deleteMessage(id, messageId)
      assert.equal(await fixture.store.readParsedJson(rawId), undefined)
      await fixture.store.saveParsed(rawId, PARSED)
      assert.equal(await fixture.store.readParsedJson(rawId), undefined, 'a late parse is not kept')
    })
  })
}

const PARSED = {
  from: [{ name: 'Ann', address: 'ann@sender.test' }],
  to: [],
  cc: [],
  replyTo: [],
  messageId: null,
  date: null,
  text: 'hello\n',
  html: null,
  headers: [{ name: '__proto__', value: 'x' }],
  attachments: [],
  codes: [{ value: '123456', kind: 'digits', confidence: 0.9 }],
  links: [],
} satisfies Mail
