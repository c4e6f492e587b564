import { beforeEach, describe, expect, test } from 'vitest'
import { openAccount } from './account.ts'
import type { ImapDeps } from './options.ts'
import { asOwner, dovecotForTests, folderContents } from './testing/dovecot-account.ts'
import { ANN, mailText, openImapFixture, testAccountAt } from './testing/fixture.ts'
import { openProxy } from './testing/proxy.ts'

const dovecot = dovecotForTests()
const X = 'ann+x@mail.test'
const REMOVING = { deleteAfterFetch: true }

beforeEach(async () => {
  // Each test starts with an empty account.
  await asOwner(dovecot.server().port, async (client) => {
    for (const folder of ['INBOX', 'Spam', 'Trash']) {
      const { exists } = await client.mailboxOpen(folder)
      if (exists > 0) await client.messageDelete('1:*')
    }
  })
})

const bodies = (mails: { raw: string }[]) =>
  mails.map(({ raw }) => raw.split('\r\n\r\n')[1]?.trim())

describe('delete_after_fetch', () => {
  test('removes fetched mail from INBOX, Spam and the trash, and nothing else', async () => {
    const proxy = await openProxy(dovecot.server().port)
    const fixture = openImapFixture([X])
    const account = openAccount(fixture.deps, testAccountAt(proxy.port, REMOVING))
    await fixture.untilHealth('ok')
    dovecot.server().deliver(ANN, mailText({ To: ANN }, 'own trash'), { folder: 'Trash' })
    dovecot.server().deliver(ANN, mailText({ To: ANN }, 'own mail'))
    dovecot.server().deliver(ANN, mailText({ To: X }, 'fetched'))
    dovecot.server().deliver(ANN, mailText({ To: X }, 'fetched as well'), { folder: 'Spam' })
    fixture.requestPoll()
    await fixture.untilMails(2)
    // Its last step is to empty the trash and return to INBOX.
    await proxy.until(({ lines }) => expunges(lines) === 2 && lines.at(-1) === 'IDLE')
    const view = await folderContents(dovecot.server().port)
    expect(bodies(view.INBOX)).toEqual(['own mail'])
    expect(bodies(view.Spam)).toEqual([])
    expect(bodies(view.Trash)).toEqual(['own trash'])
    expect(view.Trash[0]?.flags).toEqual([])
    await account.close()
    await proxy.close()
  })

  test('keeps mail for a full mailbox', async () => {
    const fixture = await dovecot.ready([X], REMOVING)
    fixture.state.full = true
    dovecot.server().deliver(ANN, mailText({ To: X }, 'no room'))
    await fixture.until(() => fixture.logLines.some((line) => line.includes('mailbox full')))
    await dovecot.closeAll()
    expect(bodies((await folderContents(dovecot.server().port)).INBOX)).toEqual(['no room'])
  })

  test('keeps mail that may name aliases beyond those read, and blocked mail', async () => {
    const proxy = await openProxy(dovecot.server().port)
    const fixture = openImapFixture([X])
    const receive: ImapDeps['receive'] = async (mail) => {
      if (!Buffer.from(mail.raw).includes('unwanted')) return await fixture.deps.receive(mail)
      await fixture.deps.receive({ ...mail, recipients: [] })
      return 'blocked'
    }
    const account = openAccount({ ...fixture.deps, receive }, testAccountAt(proxy.port, REMOVING))
    await fixture.untilHealth('ok')
    const many = Array.from({ length: 1_000 }, (_, number) => `n${number}@elsewhere.test`)
    dovecot.server().deliver(ANN, mailText({ To: [X, ...many].join(',\r\n ') }, 'for many'))
    dovecot.server().deliver(ANN, mailText({ To: X }, 'unwanted'))
    dovecot.server().deliver(ANN, mailText({ To: X }, 'for one'))
    await fixture.untilMails(2)
    await proxy.until(({ lines }) => expunges(lines) === 1 && lines.at(-1) === 'IDLE')
    const { INBOX } = await folderContents(dovecot.server().port)
    expect(bodies(INBOX)).toEqual(['for many', 'unwanted'])
    await account.close()
    await proxy.close()
  })

  for (const [name, command] of [
    ['a refused move', 'UID MOVE'],
    ['a refused expunge', 'UID STORE'],
  ] as const) {
    test(`${name} is logged once and repeated after a later poll`, async () => {
      const proxy = await openProxy(dovecot.server().port)
      const fixture = openImapFixture([X])
      const account = openAccount(fixture.deps, testAccountAt(proxy.port, REMOVING))
      await fixture.untilHealth('ok')
      proxy.state.refuse = command
      dovecot.server().deliver(ANN, mailText({ To: X }, 'one'))
      await fixture.until(() => fixture.logLines.some((line) => line.includes('refused to remove')))
      await proxy.until(({ lines }) => lines.at(-1) === 'IDLE')
      dovecot.server().deliver(ANN, mailText({ To: X }, 'two'))
      await fixture.untilMails(2)
      await proxy.until(({ lines }) => lines.at(-1) === 'IDLE')
      proxy.state.refuse = undefined
      dovecot.server().deliver(ANN, mailText({ To: X }, 'three'))
      await proxy.until(({ lines }) => expunges(lines) === 1 && lines.at(-1) === 'IDLE')
      const view = await folderContents(dovecot.server().port)
      expect([...view.INBOX, ...view.Trash]).toEqual([])
      expect(bodies(fixture.mails)).toEqual(['one', 'two', 'three'])
      expect(fixture.logLines.filter((line) => line.includes('refused to remove'))).toHaveLength(1)
      expect(fixture.reports.map(({ health }) => health)).toEqual(['starting', 'ok'])
      await account.close()
      await proxy.close()
    })
  }

  test('pending removals are dropped when their UIDs belong to other mails', async () => {
    const renumber = async () => {
      await dovecot.server().stop('SIGKILL')
      dovecot.server().resetUids(ANN)
    }
    await renumber()
    await dovecot.server().start()
    const proxy = await openProxy(dovecot.server().port)
    const fixture = openImapFixture([X])
    fixture.state.oldest = new Date(Date.now() - 60_000)
    const account = openAccount(fixture.deps, testAccountAt(proxy.port, REMOVING))
    await fixture.untilHealth('ok')
    proxy.state.refuse = 'UID MOVE'
    dovecot.server().deliver(ANN, mailText({ To: X }, 'stored'))
    await fixture.until(() => fixture.logLines.some((line) => line.includes('refused to remove')))
    expect(fixture.folders.get('INBOX')?.lastUid).toBe(1)
    await renumber()
    const early = new Date(Date.now() - 40_000)
    for (const body of ['own mail', 'own mail too', 'own mail as well']) {
      dovecot.server().deliver(ANN, mailText({ To: ANN }, body), { at: early })
    }
    proxy.state.refuse = undefined
    await dovecot.server().start()
    dovecot.server().deliver(ANN, mailText({ To: X }, 'another'))
    await fixture.untilMails(2)
    await proxy.until(({ lines }) => expunges(lines) > 0 && lines.at(-1) === 'IDLE')
    const { INBOX } = await folderContents(dovecot.server().port)
    expect(bodies(INBOX)).toEqual(['own mail', 'own mail too', 'own mail as well'])
    await account.close()
    await proxy.close()
  })

  test('without a trash folder nothing is removed, and that is logged once', async () => {
    const proxy = await openProxy(dovecot.server().port)
    proxy.state.rewrite = (chunk) => chunk.replace(/\* LIST [^\r]*Trash\r\n/, '')
    const fixture = openImapFixture([X])
    const account = openAccount(fixture.deps, testAccountAt(proxy.port, REMOVING))
    await fixture.untilHealth('ok')
    for (const count of [1, 2]) {
      dovecot.server().deliver(ANN, mailText({ To: X }))
      await fixture.untilMails(count)
      await proxy.until(({ lines }) => lines.at(-1) === 'IDLE')
    }
    expect(
      fixture.logLines.filter((line) => line.includes('fetched mail is not removed')),
    ).toHaveLength(1)
    expect((await folderContents(dovecot.server().port)).INBOX).toHaveLength(2)
    await account.close()
    await proxy.close()
  })
})

function expunges(lines: readonly string[]): number {
  return lines.filter((line) => line === 'UID EXPUNGE').length
}
