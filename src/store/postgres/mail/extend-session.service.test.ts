import assert from 'node:assert/strict'
import { Client } from 'pg'
import { describe, test } from 'vitest'
import { openPostgresTestMail } from '../../../../test/support/postgres-stores.ts'
import { waitUntil } from '../../../../test/support/wait-until.ts'
import { at, DAY, HOUR, MINUTE, openFixture, START } from '../../contract/fixture.ts'
import { mailForTests } from '../testing/mail-for-tests.ts'
import { dayOf, FAR_PARTITION } from './partition-key.ts'

const TODAY = dayOf(START)

const db = mailForTests()
const { run } = db
/** Physical position of every row of mail: a copied or updated row has a new one. */
const positions = () =>
  run(
    `select tableoid, ctid::text, xmin::text from mail.raw_mail
     union all select tableoid, ctid::text, xmin::text from mail.message order by 1, 2`,
  )
const bucketsOf = async (table: string) => {
  const rows = await run<{ bucket: number }>(
    `select distinct bucket from mail.${table} order by bucket`,
  )
  return rows.map(({ bucket }) => bucket)
}

describe('extending a session', () => {
  test('moves no mail if the lifetime gets shorter', async () => {
    const { id } = await db.fixture.session('ann@box.test', 20 * DAY)
    await db.fixture.send(['ann@box.test'])
    const before = await positions()
    for (const days of [10, 1, 20]) {
      assert.ok(await db.fixture.store.extendSession(id, at(days * DAY), START))
    }
    assert.deepEqual(await positions(), before)
  })

  test('moves no mail if lifetimes alternate, after the first of each', async () => {
    const { id } = await db.fixture.session('ann@box.test')
    await db.fixture.send(['ann@box.test'])
    const extend = async (hours: number) => {
      assert.ok(await db.fixture.store.extendSession(id, at(hours * HOUR), START))
    }
    await extend(30)
    await extend(100)
    const before = await positions()
    for (let round = 0; round < 20; round += 1) await extend(round % 2 === 0 ? 30 : 100)
    assert.deepEqual(await positions(), before)
  })

  test('by a day each day copies the mail only a few times in total, and loses none', async () => {
    const { id } = await db.fixture.session('ann@box.test', DAY)
    await db.fixture.send(['ann@box.test'])
    let copies = 0
    let before = await positions()
    for (let day = 1; day <= 100; day += 1) {
      assert.ok(await db.fixture.store.extendSession(id, at((day + 1) * DAY), at(day * DAY - HOUR)))
      if (day % 20 === 0) await db.fixture.sweepAll(at(day * DAY))
      const now = await positions()
      if (JSON.stringify(now) !== JSON.stringify(before)) copies += 1
      before = now
    }
    assert.equal(copies, 6)
    assert.deepEqual(await db.fixture.subjects(id), ['hello'])
    assert.deepEqual(await bucketsOf('raw_mail'), [FAR_PARTITION])
  })

  test('changes the bucket of an empty mailbox to that of its expiry, earlier or later', async () => {
    const { id } = await db.fixture.session('ann@box.test')
    for (const days of [5, 2, 3]) {
      assert.ok(await db.fixture.store.extendSession(id, at(days * DAY), START))
      assert.deepEqual(await bucketsOf('session'), [TODAY + days])
    }
  })
})

test('mail in a bucket after the expiry of its session is deleted soon after the expiry', async () => {
  const { id } = await db.fixture.session('ann@box.test')
  await db.fixture.send(['ann@box.test'])
  assert.ok(await db.fixture.store.extendSession(id, at(20 * DAY), START))
  assert.ok(await db.fixture.store.extendSession(id, at(2 * HOUR), START))
  await db.fixture.send(['ann@box.test'])
  assert.deepEqual(await bucketsOf('message'), await bucketsOf('session'))
  assert.deepEqual(await db.fixture.subjects(id), ['hello', 'hello'])
  await db.fixture.sweepAll(at(2 * HOUR + MINUTE))
  assert.deepEqual([await bucketsOf('message'), await bucketsOf('raw_mail')], [[], []])
})

test('sessions with more mail than one step deletes are cleared in several steps', async () => {
  const largeLimits = {
    mailbox: { maxMessages: 9, maxBytes: 1e9 },
    poolMaxBytes: 1e9,
    maxMailBytes: 10_000_000,
  }
  const large = await openPostgresTestMail(db.postgres, { limits: largeLimits })
  const second = await openFixture(large)
  const raw = () => new Uint8Array(40 * 1024 * 1024)
  const names = ['ann@box.test', 'bob@box.test']
  for (const name of names) {
    const { id } = await second.session(name, 20 * DAY)
    await second.send([name], { raw: raw() })
    await second.send([name], { raw: raw() })
    await second.store.endSession(id, at(1))
  }
  let steps = 1
  while (await second.store.sweep(second.due(at(MINUTE + 1)))) steps += 1
  assert.ok(steps >= 3, `${steps} steps`)
  const remaining = 'select 1 from mail.raw_mail union all select 1 from mail.message'
  assert.deepEqual(await db.postgres.run(remaining, large.database), [])
  await second.close()
})

test('an extend and a sweep that release the same mails in two buckets do not deadlock', async () => {
  const x = await db.fixture.session('x@box.test', 12 * DAY)
  const y = await db.fixture.session('y@box.test', 5 * DAY)
  const z = await db.fixture.session('z@box.test', 5 * DAY)
  await db.fixture.send(['y@box.test', 'z@box.test'])
  await db.fixture.send(['x@box.test', 'z@box.test'])
  await db.fixture.store.endSession(x.id, at(1))
  await db.fixture.store.endSession(y.id, at(2))
  const blocker = new Client({ connectionString: db.opened.url })
  await blocker.connect()
  await blocker.query('begin')
  await blocker.query(`select 1 from mail.raw_mail where bucket = ${TODAY + 5}
    order by serial limit 1 for update`)
  // The extend gets the row first: with another lock order, the sweep would hold the next row it needs.
  const extending = db.fixture.store.extendSession(z.id, at(6 * DAY), at(2))
  await untilLockWaits(1)
  const sweeping = db.fixture.other.sweep(db.fixture.due(at(MINUTE + 2)))
  await untilLockWaits(2)
  await blocker.query('commit')
  await blocker.end()
  const outcomes = await Promise.allSettled([extending, sweeping])
  assert.deepEqual(
    outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : [])),
    [],
  )
  assert.deepEqual(await bucketsOf('raw_mail'), [TODAY + 12])
  assert.deepEqual(await run('select refs from mail.raw_mail'), [{ refs: 1 }, { refs: 1 }])
})

/** Resolves when this many connections wait for a lock. */
async function untilLockWaits(count: number): Promise<void> {
  const waiting = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  await waitUntil(async () => (await run(waiting)).length === count)
}
