import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { audit } from '../../../test/kit/store/shares-model.ts'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { compress } from '../compression.ts'
import { MAIL_FILE, openWritable } from './files.ts'
import { openMigrated } from './migrate.ts'

const OLD_STEPS = ['0001', '0002', '0003', '0004']
const SENDERS = [
  '192.0.2.7',
  '::ffff:192.0.2.7',
  '2001:db8:1:2::5',
  '2001:db8:1:3::5',
  '2001::1',
  '',
]

test('opening a mail.db without shares computes them from its mail', async () => {
  const folder = tempFolder()
  const old = openWritable(join(folder.path, MAIL_FILE))
  for (const name of OLD_STEPS) {
    old.exec(readFileSync(new URL(`./migrations/mail/${name}.sql`, import.meta.url), 'utf8'))
  }
  old.pragma('user_version = 4')
  const raw = old.prepare(
    `insert into raw_mail (id, refs, client_ip, helo, mail_from, protocol, received_at)
     values (?, 3, ?, '', '', 'SMTP', 0)`,
  )
  const bytes = old.prepare('insert into raw_bytes values (?, ?)')
  const message = old.prepare(
    `insert into message (mailbox, id, raw_id, recipient, sender_name, sender_email, subject,
       received_at, size) values (?, ?, ?, 'a@box.test', '', '', '', 0, ?)`,
  )
  for (const [id, ip] of SENDERS.entries()) {
    const size = 1_000 * (id + 1)
    raw.run(id, ip)
    bytes.run(id, compress(new Uint8Array(size)))
    for (const mailbox of [1, 2, 101]) message.run(mailbox, id, id, size)
  }
  old.exec('update shared_mailbox set count = 6, bytes = 21000')
  old.close()

  const db = openMigrated(folder.path, 'mail')
  const rows = (sql: string) => db.prepare<[], Record<string, unknown>>(sql).all()
  expect(rows('select sender_network, count from sender_share where mailbox = 1')).toEqual([
    { sender_network: '192.0.2.7', count: 2 },
    { sender_network: '2001::/48', count: 1 },
    { sender_network: '2001:db8:1::/48', count: 2 },
    { sender_network: 'unknown', count: 1 },
  ])
  await audit(async (sql) => rows(sql.replaceAll('{mail}', '').replaceAll('{there}', 'true')))
  const mismatches = rows(
    `select 1 from message join raw_bytes using (raw_id)
     where stored is not case when mailbox <= 2 then length(zstd) end`,
  )
  expect(mismatches).toStrictEqual([])
  db.close()
  folder.remove()
})
