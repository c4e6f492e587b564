import { Client } from 'pg'
import { expect, test } from 'vitest'
import { openPostgres } from '../../../test/kit/store/postgres.ts'
import { MAIL_OPTIONS } from '../../../test/kit/store/postgres-stores.ts'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import { type MailboxId, OPERATOR, POOL } from '../../mail/rules/session.ts'
import { compress } from '../compression.ts'
import { readMigrations } from '../schema.ts'
import { FAR_PARTITION } from './mail/partition-key.ts'
import { openPostgresMail } from './mail-store.ts'

const BEFORE = 17
const DAY = 86_400_000
const TODAY = Math.floor(Date.now() / DAY)
const [LIVE, CLEARED] = [101, 102] as MailboxId[] as [MailboxId, MailboxId]

// mailbox, partition, id, received_at, serial
const MESSAGES = [
  [LIVE, TODAY, 1, 50, 1],
  // As a session left it that was moved to another partition.
  [LIVE, TODAY + 1, 2, 50, 2],
  [CLEARED, TODAY, 3, 50, 1],
  // The session was deleted.
  [103, TODAY, 4, 50, 3],
  [POOL, TODAY, 5, 50, 4],
  [POOL, TODAY, 6, 50, 5],
  // Received with a clock that was behind, after the others had expired.
  [POOL, TODAY, 9, 50, 6],
  [OPERATOR, FAR_PARTITION, 5, 50, 7],
  [OPERATOR, FAR_PARTITION, 7, 150, 8],
] as const

async function insert(
  client: Client,
  [mailbox, bucket, id, receivedAt, serial]: readonly number[],
): Promise<void> {
  await client.query(
    `insert into mail.raw_mail (bucket, serial, refs, client_ip, helo, mail_from, protocol, received_at, zstd)
     values ($1, $2, 1, '', '', '', 'SMTP', 0, $3) on conflict do nothing`,
    [bucket, serial, compress(`mail ${serial}`)],
  )
  await client.query(
    `insert into mail.message (mailbox, bucket, id, serial, recipient, sender_name, sender_email, subject,
       received_at, size) values ($1, $2, $3, $4, '', '', '', '', $5, 1)`,
    [mailbox, bucket, id, serial, receivedAt],
  )
}

test('of partitioned messages, those that were visible are kept, with their raw mail', async () => {
  const postgres = await openPostgres()
  const url = postgres.urlOf(await postgres.database())
  const [client, node] = [1, 2].map(() => new Client({ connectionString: url })) as [Client, Client]
  await Promise.all([client.connect(), node.connect()])
  await client.query('create schema mail; create table mail.schema_version (version integer)')
  for (const { number, sql } of readMigrations('postgres', 'mail'))
    if (number <= BEFORE) await client.query(sql)
  await client.query(`insert into mail.schema_version values (${BEFORE});
    insert into mail.session (id, address, token_hash, created_at, expires_at, bucket, cleared) values
      (${LIVE}, 'live@box.test', 'live', 0, ${Date.now() + DAY}, ${TODAY}, false),
      (${CLEARED}, 'cleared@box.test', 'cleared', 0, 0, ${TODAY}, true);
    update mail.shared_mailbox set gone_at = 100, gone_id = 6, buckets = '{${TODAY},${FAR_PARTITION}}'`)
  for (const bucket of [TODAY, TODAY + 1]) {
    for (const table of ['message', 'raw_mail']) {
      await client.query(
        `create table mail.${table}_${bucket} partition of mail.${table} for values in (${bucket})`,
      )
    }
  }
  for (const message of MESSAGES) await insert(client, message)

  // A node that was not stopped is about to answer a mail with 250.
  await node.query('begin')
  await insert(node, [LIVE, TODAY, 8, 50, 9])
  const opening = openPostgresMail({ ...MAIL_OPTIONS, url })
  await waitUntil(async () => {
    const { rows } = await client.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  })
  await node.query('commit')

  const store = await opening
  const idsIn = (mailbox: MailboxId) => store.listMessageIds(mailbox)
  expect(await idsIn(LIVE)).toEqual([8, 1])
  expect(await idsIn(CLEARED)).toEqual([])
  expect(await idsIn(POOL)).toEqual([9])
  expect(await idsIn(OPERATOR)).toEqual([7])
  const message = await store.findMessage(OPERATOR, 7)
  const raw = await store.readRaw(message?.rawId ?? 0)
  expect(raw?.bytes.toString()).toBe('mail 8')
  const { rows } = await client.query(
    `select serial from mail.raw_mail where bucket = ${FAR_PARTITION}`,
  )
  expect(rows).toEqual([{ serial: '8' }])
  expect((await client.query('select count(*)::integer from mail.message')).rows).toEqual([
    { count: 4 },
  ])
  await store.close()
  await Promise.all([client.end(), node.end()])
  await postgres.close()
})
