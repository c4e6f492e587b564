import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  address,
  at,
  COOLDOWN,
  type Fixture,
  HOUR,
  type OpenMailStore,
  openFixture,
  scanOf,
} from '../../../test/kit/store/fixture.ts'
import { type MailboxId, OPERATOR, POOL } from '../../mail/rules/session.ts'
import type { SenderChecks } from '../../shared/mail.ts'

/** What is saved about a mail after it was stored. */
export function codesContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture
  beforeEach(async () => {
    fixture = await openFixture(await open())
  })
  afterEach(() => fixture.close())

  /** A session with one message. */
  async function sessionWithMessage(name = 'ann@box.test', keyId?: string) {
    const session = await fixture.session(name, HOUR, keyId)
    await fixture.send([name])
    return { ...session, messageId: await newest(session.id) }
  }
  const newest = async (mailbox: MailboxId) => (await fixture.store.listMessageIds(mailbox))[0] ?? 0
  const codesOf = async (mailbox: MailboxId) =>
    (await fixture.other.listMessages(mailbox, { sinceId: 0, limit: 100 })).map(({ code }) => code)
  const versionOf = async (tokenHash: string) =>
    (await fixture.other.findSession(tokenHash))?.version ?? -1

  describe('the result of a scan', () => {
    test('is unknown until it is saved, then visible to every thread', async () => {
      const { id: mailbox, messageId: id } = await sessionWithMessage()
      expect(await codesOf(mailbox)).toStrictEqual([undefined])
      expect((await fixture.other.findMessage(mailbox, id))?.code).toBeUndefined()
      expect(await fixture.store.saveScan(scanOf(mailbox, id, '123456'))).toBe(true)
      const found = await fixture.other.findMessage(mailbox, id)
      const listed = await fixture.other.listMessages(mailbox, { sinceId: 0, limit: 100 })
      for (const message of [found, ...listed]) {
        const { code, preview, attachments, links } = message ?? {}
        expect({ mailbox, id, code, preview, attachments, links }).toStrictEqual(
          scanOf(mailbox, id, '123456'),
        )
      }
      expect(listed.length).toBe(1)
    })

    for (const [name, codes, versionChanges] of [
      ['changes the version, even for a thread that has read it before', ['123456'], 1],
      ['changes the version also if the mail has no code', [''], 1],
      ['is saved once: another one changes nothing', ['123456', '999999', ''], 1],
      ['is not replaced once the mail was found to have no code', ['', '123456'], 1],
    ] as const) {
      test(name, async () => {
        const { id: mailbox, tokenHash, messageId: id } = await sessionWithMessage()
        const before = await versionOf(tokenHash)
        const saved: boolean[] = []
        for (const code of codes)
          saved.push(await fixture.store.saveScan(scanOf(mailbox, id, code)))
        expect(saved).toStrictEqual(codes.map((_, index) => index === 0))
        expect(await versionOf(tokenHash)).toBe(before + versionChanges)
        expect(await codesOf(mailbox)).toStrictEqual([codes[0]])
      })
    }

    test('found concurrently is saved once', async () => {
      const { id: mailbox, tokenHash, messageId: id } = await sessionWithMessage()
      const before = await versionOf(tokenHash)
      const [store, other] = [fixture.store, fixture.other]
      const saved = await Promise.all(
        [store, other, store].map((one) => one.saveScan(scanOf(mailbox, id, '123456'))),
      )
      expect(saved.filter(Boolean).length).toBe(1)
      expect(await versionOf(tokenHash)).toBe(before + 1)
    })

    test('cannot be saved through another mailbox', async () => {
      const [ann, bob] = [await sessionWithMessage(), await sessionWithMessage('bob@box.test')]
      const versions = [await versionOf(ann.tokenHash), await versionOf(bob.tokenHash)]
      const mismatched = scanOf(ann.id, bob.messageId, '123456')
      expect(await fixture.store.saveScan(mismatched)).toBe(false)
      expect([await codesOf(ann.id), await codesOf(bob.id)]).toStrictEqual([
        [undefined],
        [undefined],
      ])
      expect([await versionOf(ann.tokenHash), await versionOf(bob.tokenHash)]).toStrictEqual(
        versions,
      )
    })

    test('of one recipient is not that of another', async () => {
      const [ann, bob] = [
        await fixture.session('ann@box.test'),
        await fixture.session('bob@box.test'),
      ]
      await fixture.send(['ann@box.test', 'bob@box.test'])
      const id = await newest(ann.id)
      expect(await fixture.store.saveScan(scanOf(ann.id, id, '123456'))).toBe(true)
      expect([await codesOf(ann.id), await codesOf(bob.id)]).toStrictEqual([
        ['123456'],
        [undefined],
      ])
    })

    test('of a deleted message is not saved, and changes no version', async () => {
      const { id: mailbox, tokenHash, messageId: id } = await sessionWithMessage()
      await fixture.store.deleteMessages(mailbox, [id])
      const before = await versionOf(tokenHash)
      expect(await fixture.store.saveScan(scanOf(mailbox, id, '123456'))).toBe(false)
      expect(await versionOf(tokenHash)).toBe(before)
      expect(await codesOf(mailbox)).toStrictEqual([])
    })

    for (const [name, finish] of [
      ['was ended', (mailbox: MailboxId) => fixture.store.endSession(mailbox, at(1))],
      [
        'was revived as another',
        (mailbox: MailboxId) =>
          fixture.store.reviveSession({
            mailbox,
            now: at(HOUR),
            expiresAt: at(2 * HOUR),
            cooldownMs: COOLDOWN,
          }),
      ],
      ['was swept', () => fixture.sweepAll(at(2 * HOUR))],
    ] as const) {
      test(`of a session that ${name} is not saved`, async () => {
        const { id: mailbox, tokenHash, messageId: id } = await sessionWithMessage()
        await finish(mailbox)
        const before = await versionOf(tokenHash)
        expect(await fixture.store.saveScan(scanOf(mailbox, id, '123456'))).toBe(false)
        expect(await versionOf(tokenHash)).toBe(before)
      })
    }

    test('is not saved in shared mailboxes', async () => {
      await fixture.send(['any@pool.test'])
      await fixture.send(['abuse@box.test'])
      for (const mailbox of [POOL, OPERATOR]) {
        const before = await fixture.store.readSharedMailbox(mailbox)
        const scan = scanOf(mailbox, await newest(mailbox), '123456')
        expect(await fixture.store.saveScan(scan)).toBe(false)
        expect(await fixture.store.readSharedMailbox(mailbox)).toStrictEqual(before)
      }
    })

    test('does not change the version of the key', async () => {
      const own = await sessionWithMessage('own@box.test', 'key-1')
      const scopes = [undefined, address('own@box.test')].map((to) => ({
        keyId: 'key-1',
        pool: true,
        to,
        now: at(1),
      }))
      const versions = () => Promise.all(scopes.map((scope) => fixture.other.keyMailVersion(scope)))
      const [before, version] = [await versions(), await versionOf(own.tokenHash)]
      const scan = scanOf(own.id, own.messageId, '123456')
      expect(await fixture.store.saveScan(scan)).toBe(true)
      expect(await versions()).toStrictEqual(before)
      expect(await versionOf(own.tokenHash)).toBe(version + 1)
    })
  })

  describe('sender checks', () => {
    const CHECKS: SenderChecks = { spf: 'pass', dkim: 'none', dmarc: 'fail' }
    const rawIdOf = async ({ id, messageId }: { id: MailboxId; messageId: number }) =>
      (await fixture.store.findMessage(id, messageId))?.rawId ?? 0

    test('are stored with the raw mail for all recipients, and can be replaced', async () => {
      const rawId = await rawIdOf(await sessionWithMessage())
      expect(await fixture.other.readSenderChecks(rawId)).toBeUndefined()
      await fixture.store.saveSenderChecks(rawId, CHECKS)
      expect(await fixture.other.readSenderChecks(rawId)).toStrictEqual(CHECKS)
      await fixture.store.saveSenderChecks(rawId, { ...CHECKS, spf: 'softfail' })
      expect(await fixture.other.readSenderChecks(rawId)).toStrictEqual({
        ...CHECKS,
        spf: 'softfail',
      })
    })

    test('change no version, because no list contains them', async () => {
      const ann = await sessionWithMessage()
      const before = await versionOf(ann.tokenHash)
      await fixture.store.saveSenderChecks(await rawIdOf(ann), CHECKS)
      expect(await versionOf(ann.tokenHash)).toBe(before)
    })

    test('are deleted with the mail, and late ones are not stored', async () => {
      const ann = await sessionWithMessage()
      const rawId = await rawIdOf(ann)
      await fixture.store.saveSenderChecks(rawId, CHECKS)
      await fixture.store.deleteMessages(ann.id, [ann.messageId])
      expect(await fixture.store.readSenderChecks(rawId)).toBeUndefined()
      await fixture.store.saveSenderChecks(rawId, CHECKS)
      expect(await fixture.store.readSenderChecks(rawId)).toBeUndefined()
    })
  })
}
