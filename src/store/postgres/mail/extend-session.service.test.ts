import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { at, DAY, HOUR, MINUTE, openFixture, START } from '../../../../test/kit/store/fixture.ts'
import { openPostgresTestMail } from '../../../../test/kit/store/postgres-stores.ts'
import { waitUntil } from '../../../../test/kit/wait-until.ts'
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
const buckets = async () => {
  const rows = await run<{ bucket: number }>(
    'select distinct bucket from mail.raw_mail order by bucket',
  )
  return rows.map(({ bucket }) => bucket)
}

describe('extending a session', () => {
  test('moves no mail if the lifetime gets shorter', async () => {
    const { id } = await db.fixture.session('ann@box.test', 20 * DAY)
    await db.fixture.send(['ann@box.test'])
    const before = await positions()
    for (const days of [10, 1, 20]) {
      expect(await db.fixture.store.extendSession(id, at(days * DAY), START)).toBeTruthy()
    }
    expect(await positions()).toStrictEqual(before)
  })

  test('moves no mail if lifetimes alternate, after the first of each', async () => {
    const { id } = await db.fixture.session('ann@box.test')
    await db.fixture.send(['ann@box.test'])
    const extend = async (hours: number) => {
      expect(await db.fixture.store.extendSession(id, at(hours * HOUR), START)).toBeTruthy()
    }
    await extend(30)
    await extend(100)
    const before = await positions()
    for (let round = 0; round < 20; round += 1) await extend(round % 2 === 0 ? 30 : 100)
    expect(await positions()).toStrictEqual(before)
  })

  test('by a day each day copies the mail only a few times in total, and loses none', async () => {
    const { id } = await db.fixture.session('ann@box.test', DAY)
    await db.fixture.send(['ann@box.test'])
    let copies = 0
    let before = await positions()
    for (let day = 1; day <= 100; day += 1) {
      expect(
        await db.fixture.store.extendSession(id, at((day + 1) * DAY), at(day * DAY - HOUR)),
      ).toBeTruthy()
      if (day % 20 === 0) await db.fixture.sweepAll(at(day * DAY))
      const now = await positions()
      if (JSON.stringify(now) !== JSON.stringify(before)) copies += 1
      before = now
    }
    expect(copies).toBe(6)
    expect(await db.fixture.subjects(id)).toStrictEqual(['hello'])
    expect(await buckets()).toStrictEqual([FAR_PARTITION])
  })
})

test('mail in a bucket after the expiry of its session is deleted soon after the expiry', async () => {
  const { id } = await db.fixture.session('ann@box.test')
  await db.fixture.send(['ann@box.test'])
  expect(await db.fixture.store.extendSession(id, at(20 * DAY), START)).toBeTruthy()
  expect(await db.fixture.store.extendSession(id, at(2 * HOUR), START)).toBeTruthy()
  await db.fixture.send(['ann@box.test'])
  expect(await buckets()).toStrictEqual([TODAY, TODAY + 40])
  expect(await db.fixture.subjects(id)).toStrictEqual(['hello', 'hello'])
  await db.fixture.sweepAll(at(2 * HOUR + MINUTE))
  expect([await db.fixture.subjects(id), await buckets()]).toStrictEqual([[], [TODAY]])
})

test('sessions with more mail than one step deletes are cleared in several steps', async () => {
  const largeLimits = {
    mailbox: { maxMessages: 9, maxBytes: 1e9 },
    poolMaxBytes: 1e9,
    ownMaxBytes: 1e9,
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
  expect(steps, `${steps} steps`).toBeGreaterThanOrEqual(3)
  const remaining = 'select 1 from mail.raw_mail union all select 1 from mail.message'
  expect(await db.postgres.run(remaining, large.database)).toStrictEqual([])
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
  expect(
    outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : [])),
  ).toStrictEqual([])
  expect(await buckets()).toStrictEqual([TODAY + 12])
  expect(await run('select refs from mail.raw_mail')).toStrictEqual([{ refs: 1 }, { refs: 1 }])
})

test('an extend does not deadlock with a deletion in another session of its key that has the same mail', async () => {
  const x = await db.fixture.session('x@box.test', DAY, 'key-1')
  const y = await db.fixture.session('y@box.test', DAY, 'key-1')
  await db.fixture.send(['x@box.test', 'y@box.test'])
  const ids = await db.fixture.store.listMessageIds(x.id)
  const blocker = new Client({ connectionString: db.opened.url })
  await blocker.connect()
  await blocker.query('begin; select 1 from mail.key_view for update')
  // The deletion gets the row of the key first: an extend that had the mail locked by then would wait for it.
  const deleting = db.fixture.store.deleteMessages(x.id, ids)
  await untilLockWaits(1)
  const extending = db.fixture.other.extendSession(y.id, at(6 * DAY), START)
  await untilLockWaits(2)
  await blocker.query('commit')
  await blocker.end()
  const outcomes = await Promise.allSettled([deleting, extending])
  expect(outcomes.map(({ status }) => status)).toStrictEqual(['fulfilled', 'fulfilled'])
  expect(await run('select refs from mail.raw_mail')).toStrictEqual([{ refs: 1 }])
})

/** Resolves when this many connections wait for a lock. */
async function untilLockWaits(count: number): Promise<void> {
  const waiting = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  await waitUntil(async () => (await run(waiting)).length === count)
}
