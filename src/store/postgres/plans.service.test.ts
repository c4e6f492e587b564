import assert from 'node:assert/strict'
import { Client } from 'pg'
import { afterAll, beforeAll, test } from 'vitest'
import { LEDGER_KEY } from '../../../test/support/address-ledger.ts'
import { openPostgres, type Postgres } from '../../../test/support/postgres.ts'
import { MAIL_OPTIONS, openPostgresTestMail } from '../../../test/support/postgres-stores.ts'
import { openLedgerHmac } from '../../mail/rules/ledger.ts'
import { POOL } from '../../mail/rules/session.ts'
import { address, at, DAY, openFixture, START } from '../contract/fixture.ts'
import { type Connections, type Db, openConnections } from './connection/connections.ts'
import { keyMailReads } from './mail/key-mail.ts'
import { messageReads } from './mail/messages.ts'
import { dayOf, openPartitionCache } from './mail/partition-key.ts'
import { rawMailReads } from './mail/raw-mail.ts'
import { recipientReads } from './mail/recipients.ts'
import { sessionReads } from './mail/sessions.ts'

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
  const partitions = openPartitionCache()
  const { listMessages, findMessage } = messageReads(recordingDb, partitions)
  const { keyMailVersion, listKeyMail, readKeyMail, lastExpired } = keyMailReads(
    recordingDb,
    partitions,
  )
  const sessionDay = dayOf(at(3 * DAY))
  const sharedDay = dayOf(at(DAY))
  const page = { sinceId: 0, limit: 9, beforeId: undefined }
  const scope = { keyId: 'key-1', pool: true, to: undefined, now: START }
  const oneAddress = { ...scope, to: address('any@pool.test') }
  for (const [name, query, days] of [
    ['find', () => sessionReads(recordingDb, partitions).findSession(ann.tokenHash), []],
    ['list', () => listMessages(ann.id, page), [sessionDay]],
    ['read', () => findMessage(ann.id, id), [sessionDay]],
    ['list of the pool', () => listMessages(POOL, page), [sharedDay]],
    ['raw', () => rawMailReads(recordingDb).readRaw(rawId), [sessionDay]],
    [
      'recipient',
      () => recipientReads(recordingDb, openLedgerHmac(LEDGER_KEY)).findRecipient(ann.address),
      [],
    ],
    [
      'recipient in the pool',
      () => recipientReads(recordingDb, openLedgerHmac(LEDGER_KEY)).findRecipient(oneAddress.to),
      [sharedDay],
    ],
    ['version', () => keyMailVersion(scope), []],
    ['version of an address', () => keyMailVersion(oneAddress), [sharedDay]],
    ['all mail of a key', () => listKeyMail(scope, page), [sessionDay, sharedDay]],
    ['one address of a key', () => listKeyMail(oneAddress, page), [sharedDay]],
    ['messages by id', () => readKeyMail(scope, [id]), [sessionDay, sharedDay]],
    ['expired mail', () => lastExpired(scope, id), []],
  ] as const) {
    await query()
    plans.length = 0
    await query()
    const text = plans.join('\n')
    assert.ok(plans.length > 0)
    const scannedDays = [...text.matchAll(/ on (?:message|raw_mail)_(\w+)/g)].map(([, day]) => day)
    assert.deepEqual([...new Set(scannedDays)].sort(), days.map(String).sort(), `${name}:\n${text}`)
    assert.doesNotMatch(
      text,
      /Seq Scan on (message|raw_mail|session|address_ledger|key_view)/,
      name,
    )
    // Scanning an index from end to end is no better.
    assert.doesNotMatch(
      text,
      /Index.* Scan using \S+ on (message|raw_mail)\S*.*\n(?!\s*Index Cond)/,
      name,
    )
  }
  await explainer.end()
  await pool.close()
  await fixture.close()
})

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
