import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LEDGER_KEY } from '../../../test/kit/store/address-ledger.ts'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import type { Address } from '../../base/address.ts'
import { messageReads, messageWrites } from '../../mail/message-store.ts'
import { openLedgerHmac } from '../../mail/rules/ledger.ts'
import type { MailboxId } from '../../mail/rules/session.ts'
import { NO_RULES } from '../../shared/address-rules.ts'
import { compress } from '../compression.ts'
import { MAIL_FILE, openWritable } from './files.ts'
import { rawMailReads } from './mail/raw-mail.ts'
import { recipientReads } from './mail/recipients.ts'
import { sessionReads } from './mail/sessions.ts'
import { openMigrated } from './migrate.ts'
import { syncMethods } from './operations.ts'

test('mail stored before codes were extracted is scanned again', async () => {
  const folder = tempFolder()
  const old = openWritable(join(folder.path, MAIL_FILE))
  for (const step of ['0001', '0002', '0003']) {
    old.exec(readFileSync(new URL(`./migrations/mail/${step}.sql`, import.meta.url), 'utf8'))
  }
  old.pragma('user_version = 3')
  old.exec(`
    insert into mail_domain (name, sessions, reader) values ('box.test', 1, 0);
    insert into session (id, address, token_hash, created_at, expires_at, version, count)
      values (101, 'ann@box.test', 'h', 0, 1, 7, 1);
    insert into raw_mail values (5, 1, '192.0.2.1', 'x', '', null, 'SMTP', 0);
    insert into message values (101, 11, 5, 'ann@box.test', 'A', 'a@b.test', 's', 0, 3, null);
  `)
  old.prepare('insert into parsed_mail values (5, ?)').run(compress('{"text":"without codes"}'))
  old.close()

  const db = openMigrated(folder.path, 'mail')
  const { listMessages, findSession, saveScan } = syncMethods(db, {
    ...messageReads,
    ...messageWrites(function* () {}),
    ...sessionReads,
  })
  const [message] = listMessages(101 as MailboxId, { sinceId: 0, limit: 1 })
  expect([message?.subject, message?.code]).toStrictEqual(['s', undefined])
  expect(await rawMailReads(db).readParsedJson(5)).toBeUndefined()
  expect(rawMailReads(db).readSenderChecks(5)).toBeUndefined()
  const session = findSession('h')
  const { findRecipient } = recipientReads(db, openLedgerHmac(LEDGER_KEY))
  expect(session?.version, 'an ETag of before stays good').toBe(7)
  expect(session?.rules).toStrictEqual(NO_RULES)
  expect(findRecipient('ann@box.test' as Address).session?.received).toBe(0)

  // As a version that did not count links left it.
  db.exec("update message set code = '123', preview = 'Your code', attachments = 0")
  const mailbox = 101 as MailboxId
  const scan = { mailbox, id: 11, code: '123', preview: 'Your code', attachments: 0, links: 1 }
  expect(saveScan(scan)).toBe(true)
  const [scanned] = listMessages(mailbox, { sinceId: 0, limit: 1 })
  expect([scanned?.code, scanned?.links]).toStrictEqual(['123', 1])
  expect(findSession('h')?.version, 'and the count of links changes it').toBe(8)
  db.close()
  folder.remove()
})
