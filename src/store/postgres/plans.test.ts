import assert from 'node:assert/strict'
import { Client } from 'pg'
import { afterAll, beforeAll, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../test/support/postgres.ts'
import { MAIL_OPTIONS, openPostgresTestMail } from '../../../test/support/postgres-stores.ts'
import { POOL } from '../../core/session.ts'
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

test('each question is found by an index, in the partition of its day alone', async () => {
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
  // As after many runs, and as if the tables were large.
  await explainer.query('set plan_cache_mode = force_generic_plan; set enable_seqscan = off')
  const plans: string[] = []
  const noting = notingPlans(pool, explainer, plans)
  const places = openPartitionCache()
  const { listMessages, findMessage } = messageReads(noting, places)
  const { keyMailVersion, listKeyMail } = keyMailReads(noting, places)
  const session = dayOf(at(3 * DAY))
  const shared = dayOf(at(DAY))
  const page = { sinceId: 0, limit: 9, beforeId: undefined }
  const scope = { keyId: 'key-1', pool: true, to: undefined, now: START }
  const one = { ...scope, to: address('any@pool.test') }
  for (const [name, ask, days] of [
    ['find', () => sessionReads(noting, places).findSession(ann.tokenHash), []],
    ['list', () => listMessages(ann.id, page), [session]],
    ['read', () => findMessage(ann.id, id), [session]],
    ['list of the pool', () => listMessages(POOL, page), [shared]],
    ['raw', () => rawMailReads(noting).readRaw(rawId), [session]],
    ['accept', () => recipientReads(noting).findRecipient(ann.address), []],
    ['accept in the pool', () => recipientReads(noting).findRecipient(one.to), [shared]],
    ['mark', () => keyMailVersion(scope), []],
    ['mark of an address', () => keyMailVersion(one), [shared]],
    ['all of a key', () => listKeyMail(scope, page), [session, shared]],
    ['one address of a key', () => listKeyMail(one, page), [shared]],
  ] as const) {
    await ask()
    plans.length = 0
    await ask()
    const text = plans.join('\n')
    assert.ok(plans.length > 0)
    const touched = [...text.matchAll(/ on (?:message|raw_mail)_(\w+)/g)].map(([, day]) => day)
    assert.deepEqual([...new Set(touched)].sort(), days.map(String).sort(), `${name}:\n${text}`)
    assert.doesNotMatch(
      text,
      /Seq Scan on (message|raw_mail|session|address_ledger|key_view)/,
      name,
    )
    // An index that is read from end to end is no better.
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

/** Passes statements on, and notes how each would be found. */
function notingPlans(pool: Connections, explainer: Client, plans: string[]): Db {
  async function note(text: string): Promise<void> {
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
      await note(text)
      return await pool.query(text, values)
    },
    async queryUnprepared(text, values) {
      await note(text)
      return await pool.queryUnprepared(text, values)
    },
  }
}
