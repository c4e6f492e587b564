import { afterEach, beforeEach, describe, expect, test } from 'vitest'
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
} from '../../../test/kit/store/fixture.ts'
import type { AddMailResult } from '../../mail/store.ts'
import type { Mail } from '../../shared/mail.ts'

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
        expect(await fixture.send(['ann@box.test'], { head: head(subject) })).toStrictEqual({
          outcome: 'stored',
          recipients: [{ address: ann.address, mailbox: ann.id, keyId: undefined }],
        } satisfies AddMailResult)
        expect((await fixture.subjects(ann.id, fixture.other))[0]).toBe(subject)
      }
      const seen = await fixture.other.findSession(ann.tokenHash)
      expect.assert(seen && seen.version > ann.version)
      expect(seen.count).toBe(3)
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
        expect({ ...stored, bytes: new Uint8Array(stored?.bytes ?? []) }).toStrictEqual({
          ...mail.envelope,
          receivedAt: START,
          bytes: raw,
        })
        expect([message?.size, message?.recipient]).toStrictEqual([raw.length, 'ann@box.test'])
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
      expect(list.map((message) => message.subject)).toStrictEqual(['3', '2', '1', '0'])
      expect(list.every((message) => Number.isSafeInteger(message.id))).toBeTruthy()
      expect(await fixture.store.listMessageIds(id)).toStrictEqual(
        list.map((message) => message.id),
      )
    })

    test('a page is between sinceId and beforeId, and ends at the limit', async () => {
      const { id } = await fixture.session('ann@box.test')
      for (const subject of ['1', '2', '3', '4'])
        await fixture.send(['ann@box.test'], { head: head(subject) })
      const ids = await fixture.store.listMessageIds(id)
      const page = await fixture.store.listMessages(id, { sinceId: ids[3] ?? 0, limit: 2 })
      expect(page.map((message) => message.subject)).toStrictEqual(['4', '3'])
      const [, second, , oldest = 0] = ids
      const next = { sinceId: oldest, beforeId: second, limit: 2 }
      expect(
        (await fixture.store.listMessages(id, next)).map((message) => message.subject),
      ).toStrictEqual(['2'])
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
      expect((await fixture.store.deleteMessages(ann.id, [annMessageId])).messages).toBe(1)
      expect(await fixture.store.readRaw(rawId)).toBeTruthy()
      expect((await fixture.store.deleteMessages(bob.id, [bobMessageId])).messages).toBe(1)
      expect(await fixture.store.readRaw(rawId)).toBeUndefined()
    })

    test('a session cannot read or delete the mail of another', async () => {
      const [ann, bob] = [
        await fixture.session('ann@box.test'),
        await fixture.session('bob@box.test'),
      ]
      await fixture.send(['bob@box.test'])
      const [bobMessageId = 0] = await fixture.store.listMessageIds(bob.id)
      expect(await fixture.store.findMessage(ann.id, bobMessageId)).toBeUndefined()
      expect((await fixture.store.deleteMessages(ann.id, [bobMessageId])).messages).toBe(0)
      expect((await fixture.store.listMessageIds(bob.id)).length).toBe(1)
    })

    test('deleting frees space and changes the version', async () => {
      const ann = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'])
      const before = await fixture.other.findSession(ann.tokenHash)
      const [id = 0] = await fixture.store.listMessageIds(ann.id)
      await fixture.store.deleteMessages(ann.id, [id])
      const after = await fixture.other.findSession(ann.tokenHash)
      expect([after?.count, after?.bytes]).toStrictEqual([0, 0])
      expect(after && before && after.version > before.version).toBeTruthy()
      expect((await fixture.store.deleteMessages(ann.id, [id])).messages).toBe(0)
    })

    test('of ten concurrent deletions of one message, one succeeds', async () => {
      const ann = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'])
      const [id = 0] = await fixture.store.listMessageIds(ann.id)
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          (at % 2 === 0 ? fixture.store : fixture.other).deleteMessages(ann.id, [id]),
        ),
      )
      expect(results.filter(({ messages }) => messages === 1).length).toBe(1)
      expect((await fixture.store.findSession(ann.tokenHash))?.count).toStrictEqual(0)
    })

    test('a parsed mail is stored and deleted with its raw mail', async () => {
      const { id } = await fixture.session('ann@box.test')
      await fixture.send(['ann@box.test'])
      const [messageId = 0] = await fixture.store.listMessageIds(id)
      const rawId = (await fixture.store.findMessage(id, messageId))?.rawId ?? 0
      expect(await fixture.store.readParsedJson(rawId)).toBeUndefined()
      await fixture.store.saveParsed(rawId, PARSED)
      const json = await fixture.other.readParsedJson(rawId)
      expect(JSON.parse(String(json))).toStrictEqual(PARSED)
      await fixture.store.deleteMessages(id, [messageId])
      expect(await fixture.store.readParsedJson(rawId)).toBeUndefined()
      await fixture.store.saveParsed(rawId, PARSED)
      expect(await fixture.store.readParsedJson(rawId), 'a late parse is not kept').toBeUndefined()
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
