import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LEDGER_KEY } from '../../../test/kit/store/address-ledger.ts'
import { address, at, DAY, openFixture, START } from '../../../test/kit/store/fixture.ts'
import { openPostgres, type Postgres } from '../../../test/kit/store/postgres.ts'
import { MAIL_OPTIONS, openPostgresTestMail } from '../../../test/kit/store/postgres-stores.ts'
import type { AsyncMethods } from '../../base/operation.ts'
import { keyReads } from '../../keys/store.ts'
import { keyMailReads } from '../../mail/key-mail-store.ts'
import { messageReads } from '../../mail/message-store.ts'
import { openLedgerHmac } from '../../mail/rules/ledger.ts'
import { POOL } from '../../mail/rules/session.ts'
import { webhookReads } from '../../webhooks/read-store.ts'
import { type Connections, type Db, openConnections } from './connection/connections.ts'
import { asyncMethods } from './connection/operations.ts'
import { dayOf } from './mail/partition-key.ts'
import { rawMailReads } from './mail/raw-mail.ts'
import { recipientReads } from './mail/recipients.ts'
import { sessionReads } from './mail/sessions.ts'
import { openPostgresShop } from './shop-store.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

test('every query uses an index, and only the partition of its day', async () => {
  const opened = await openPostgresTestMail(postgres, { aheadDays: 9 })
  const fixture = await openFixture(opened)
  await fixture.sweepAll(START)
  const ann = await fixture.session('ann@box.test', 3 * DAY, 'key-1')
  await fixture.send(['ann@box.test', 'any@pool.test'])
  const [id = 0] = await fixture.store.listMessageIds(ann.id)
  const rawId = (await fixture.store.findMessage(ann.id, id))?.rawId ?? 0

  const pool = openConnections({ ...MAIL_OPTIONS, url: opened.url })
  const explainer = new Client({ connectionString: opened.url })
  await explainer.connect()
  // A generic plan, as after many runs, and as if the tables were large.
  await explainer.query('set plan_cache_mode = force_generic_plan; set enable_seqscan = off')
  const plans: string[] = []
  const recordingDb = recordPlans(pool, explainer, plans)
  const reads = asyncMethods(recordingDb, { ...messageReads, ...keyMailReads })
  const { listMessages, findMessage, keyMailVersion, listKeyMail, readKeyMail, lastExpired } = reads
  const page = { sinceId: 0, limit: 9, beforeId: undefined }
  const scope = { keyId: 'key-1', pool: true, to: undefined, now: START }
  const oneAddress = { ...scope, to: address('any@pool.test') }
  for (const [name, query] of [
    ['find', () => sessionReads(recordingDb).findSession(ann.tokenHash)],
    ['list', () => listMessages(ann.id, page)],
    ['read', () => findMessage(ann.id, id)],
    ['list of the pool', () => listMessages(POOL, page)],
    ['raw', () => rawMailReads(recordingDb).readRaw(rawId)],
    [
      'recipient',
      () => recipientReads(recordingDb, openLedgerHmac(LEDGER_KEY)).findRecipient(ann.address),
    ],
    [
      'recipient in the pool',
      () => recipientReads(recordingDb, openLedgerHmac(LEDGER_KEY)).findRecipient(oneAddress.to),
    ],
    ['version', () => keyMailVersion(scope)],
    ['version of an address', () => keyMailVersion(oneAddress)],
    ['all mail of a key', () => listKeyMail(scope, page)],
    ['one address of a key', () => listKeyMail(oneAddress, page)],
    ['messages by id', () => readKeyMail(scope, [id])],
    ['expired mail', () => lastExpired(scope, id)],
  ] as const) {
    plans.length = 0
    await query()
    const text = plans.join('\n')
    expect(plans.length).toBeGreaterThan(0)
    const scannedDays = [...text.matchAll(/ on raw_mail_(\w+)/g)].map(([, day]) => day)
    const days = name === 'raw' ? [String(dayOf(at(3 * DAY)))] : []
    expect([...new Set(scannedDays)], `${name}:\n${text}`).toStrictEqual(days)
    expect(text, name).not.toMatch(/Seq Scan on (message|raw_mail|session|address_ledger|key_view)/)
    // Scanning an index from end to end is no better.
    expect(text, name).not.toMatch(
      /Index.* Scan using \S+ on (message|raw_mail)\S*.*\n(?!\s*Index Cond)/,
    )
  }
  await explainer.end()
  await pool.close()
  await fixture.close()
})

test.each([
  ['keys', 'api_key_created', (reads: ShopReads) => reads.listKeys({ now: START, limit: 50 })],
  [
    'webhooks',
    'webhook_created',
    (reads: ShopReads) => reads.listAllWebhooks({ now: START, limit: 50 }),
  ],
])(
  'the list of %s is read by the index on their creation, and not sorted',
  async (_name, index, list) => {
    const url = postgres.urlOf(await postgres.database())
    await (await openPostgresShop({ url })).close()
    const pool = openConnections({ url })
    const explainer = new Client({ connectionString: url })
    await explainer.connect()
    await explainer.query('set plan_cache_mode = force_generic_plan')
    await explainer.query('set enable_seqscan = off; set enable_sort = off')
    const plans: string[] = []
    const db = recordPlans(pool, explainer, plans)
    await list(asyncMethods(db, { ...keyReads, ...webhookReads }))
    expect(plans.join('\n')).toMatch(
      new RegExp(`Index Scan Backward using ${index} on .*\\n *Index Cond`),
    )
    expect(plans.join('\n')).not.toMatch(/Sort|Seq Scan/)
    await explainer.end()
    await pool.close()
  },
)
type ShopReads = AsyncMethods<typeof keyReads & typeof webhookReads>

/** Passes queries on, and records the plan of each. */
function recordPlans(pool: Connections, explainer: Client, plans: string[]): Db {
  async function explain(text: string): Promise<void> {
    const numbers = [...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number))
    const nulls = Array.from({ length: Math.max(0, ...numbers) }, () => 'null').join(', ')
    await explainer.query(`prepare asked as ${text}`)
    const call = nulls === '' ? 'asked' : `asked(${nulls})`
    const result = await explainer.query<{ 'QUERY PLAN': string }>(`explain execute ${call}`)
    plans.push(...result.rows.map((row) => row['QUERY PLAN']))
    await explainer.query('deallocate asked')
  }
  return {
    async query(text, values) {
      await explain(text)
      return await pool.query(text, values)
    },
    async queryUnprepared(text, values) {
      await explain(text)
      return await pool.queryUnprepared(text, values)
    },
  }
}
