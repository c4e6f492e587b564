import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  at,
  DAY,
  type Fixture,
  newMail,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import { openPostgres, type Postgres } from '../../../test/kit/store/postgres.ts'
import { MAIL_OPTIONS } from '../../../test/kit/store/postgres-stores.ts'
import { audit } from '../../../test/kit/store/shares-model.ts'
import { senderNetwork } from '../../base/ip.ts'
import { POOL } from '../../mail/rules/session.ts'
import { compress } from '../compression.ts'
import { type OpenShareStore, SHARE_LIMITS } from '../contract/shares.contract.ts'
import { dayOf } from './mail/partition-key.ts'
import { openPostgresMail } from './mail-store.ts'
import { openShares } from './testing/share-store.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

describe('two nodes', () => {
  let opened: OpenShareStore
  let fixture: Fixture
  beforeEach(async () => {
    opened = await openShares(postgres)
    fixture = await openFixture(opened)
  })
  afterEach(() => fixture.close())

  const mailTo = async (to: string[], network: string, more = {}) =>
    newMail(await fixture.accepted(to), {
      senderNetwork: network,
      raw: new Uint8Array(randomBytes(4_000)),
      ...more,
    })

  test('never accept more than the share of a sender', async () => {
    for (let sent = 0; sent < 60; sent += 1) {
      await fixture.send([`p${sent}@pool.test`], {
        senderNetwork: `192.0.2.${sent % 20}`,
        raw: new Uint8Array(randomBytes(4_000)),
      })
    }
    const mails = await Promise.all(
      Array.from({ length: 20 }, (_, n) => mailTo([`q${n}@pool.test`], '198.51.100.1')),
    )
    const results = await Promise.all(
      mails.map((mail, n) => (n % 2 === 0 ? fixture.store : fixture.other).addMail(mail)),
    )
    // Four mails of 4,000 bytes fit into 20,000; a fifth does not, because of the compression overhead.
    expect(results.filter(({ outcome }) => outcome === 'stored').length).toBe(4)
    await audit(opened.query)
  })

  test('leave exact counters while mail is added, deleted and swept', async () => {
    const senders = ['192.0.2.1', '192.0.2.2', '2001:db8::/48']
    const send = async (store: typeof fixture.store, name: string) => {
      for (let n = 0; n < 24; n += 1) {
        const to = [`${name}${n}@pool.test`, ...(n % 4 === 0 ? ['abuse@box.test'] : [])]
        const receivedAt = at((n % 3) * DAY)
        await store.addMail(await mailTo(to, senders[n % 3] ?? '', { receivedAt }))
      }
    }
    const remove = async () => {
      for (let n = 0; n < 12; n += 1) {
        const [id] = await fixture.other.listMessageIds(POOL)
        if (id !== undefined) await fixture.other.deleteMessages(POOL, [id])
      }
    }
    const sweep = async () => {
      for (let n = 0; n < 6; n += 1) await fixture.other.sweep(fixture.due(at(DAY + n * (DAY / 3))))
    }
    await Promise.all([send(fixture.store, 'a'), send(fixture.other, 'b'), remove(), sweep()])
    await audit(opened.query)
    await fixture.sweepAll(at(40 * DAY))
    await audit(opened.query)
    expect(await opened.query('select * from mail.sender_share')).toStrictEqual([])
  })
})

const SENDERS = [
  '192.0.2.7',
  '::ffff:c000:207',
  '2001:db8:1:2::5',
  '2001:db8:1:3::5',
  '2001::1',
  '::1',
  '',
]

test('opening a database without shares computes them from its mail', async () => {
  const database = await postgres.database()
  const client = new Client({ connectionString: postgres.urlOf(database) })
  await client.connect()
  await client.query('create schema mail; create table mail.schema_version (version integer)')
  for (const name of ['0004', '0005']) {
    const file = new URL(`./migrations/mail/${name}.sql`, import.meta.url)
    await client.query(readFileSync(file, 'utf8'))
  }
  await client.query('insert into mail.schema_version values (5)')
  const bucket = dayOf(at(DAY))
  for (const table of ['message', 'raw_mail']) {
    await client.query(
      `create table mail.${table}_${bucket} partition of mail.${table} for values in (${bucket})`,
    )
  }
  for (const [id, ip] of SENDERS.entries()) {
    const size = 1_000 * (id + 1)
    await client.query(
      `insert into mail.raw_mail (bucket, serial, refs, client_ip, helo, mail_from, protocol,
         received_at, zstd) values ($1, $2, 3, $3, '', '', 'SMTP', 0, $4)`,
      [bucket, id, ip, await compress(new Uint8Array(size))],
    )
    await client.query(
      `insert into mail.message (mailbox, bucket, id, serial, recipient, sender_name, sender_email,
         subject, received_at, size)
       select mailbox, $1, $2::int, $2::int, 'a@box.test', '', '', '', $3::bigint + $2::int, $4
       from unnest(array[1, 2, 101]) as mailbox`,
      [bucket, id, START.getTime(), size],
    )
  }
  // The first message of the pool has expired, and only its partition is not yet dropped.
  await client.query(
    `update mail.shared_mailbox set count = 7, bytes = 28000, last_id = 6, buckets = '{${bucket}}';
     update mail.shared_mailbox set count = 6, bytes = 27000, gone_at = ${START.getTime()}, gone_id = 0
     where id = 1`,
  )
  const options = { ...MAIL_OPTIONS, limits: SHARE_LIMITS, url: postgres.urlOf(database) }
  const store = await openPostgresMail(options)
  const query = async (sql: string) =>
    (await client.query<Record<string, unknown>>(sql.replaceAll('{mail}', 'mail.'))).rows
  await audit(query)
  const shares = await query(
    'select sender_network, count from mail.sender_share where mailbox = 2 order by 1',
  )
  const counts = Map.groupBy(SENDERS, senderNetwork)
  expect(shares).toEqual(
    [...counts]
      .map(([network, { length }]) => ({ sender_network: network, count: length }))
      .sort((one, next) => (one.sender_network < next.sender_network ? -1 : 1)),
  )
  const mismatches = await query(
    `select 1 from mail.message join mail.raw_mail on raw_id = (bucket::bigint << 38) + serial
     where stored is distinct from case when mailbox <= 2 then octet_length(zstd) end`,
  )
  expect(mismatches).toEqual([])
  const due = {
    now: at(2 * DAY),
    cooldownMs: 0,
    poolMs: DAY,
    ownMs: 0,
    operatorMs: DAY,
    mailLogMs: DAY,
  }
  while (await store.sweep(due));
  expect(await query('select * from mail.sender_share')).toEqual([])
  await store.close()
  await client.end()
})
