import assert from 'node:assert/strict'
import { Client } from 'pg'
import { beforeEach, describe, onTestFinished, test, vi } from 'vitest'
import { openPostgresTestMail } from '../../../../test/support/postgres-stores.ts'
import { waitUntil } from '../../../../test/support/wait-until.ts'
import { type MailboxId, OPERATOR, POOL } from '../../../mail/rules/session.ts'
import { at, DAY, HOUR, MINUTE, newSession, openFixture, START } from '../../contract/fixture.ts'
import { mailForTests } from '../testing/mail-for-tests.ts'
import { dayOf, FAR_PARTITION, rawIdOf, splitRawId } from './partition-key.ts'

const TODAY = dayOf(START)

const db = mailForTests()
const { run } = db
const count = async (sql: string) => {
  const [row] = await run<{ count: string }>(`select count(*) ${sql}`)
  return Number(row?.count)
}
/** The days that have a partition of this table. */
const days = async (table: 'message' | 'raw_mail') =>
  (
    await run<{ day: string }>(
      `select substring(inhrelid::regclass::text from '[0-9]+$') as day from pg_inherits
       where inhparent = 'mail.${table}'::regclass`,
    )
  )
    .flatMap(({ day }) => (day === null ? [] : [Number(day)]))
    .sort()
/** Any DELETE of mail fails meanwhile: mail may only be removed with its partition. */
const withoutDelete = async (operation: () => Promise<void>) => {
  await run(`create function no() returns trigger language plpgsql as
         $$ begin raise 'somebody deletes mail'; end $$;
       create trigger no before delete on mail.message for each row execute function no();
       create trigger no before delete on mail.raw_mail for each row execute function no()`)
  try {
    await operation()
  } finally {
    await run('drop function no cascade')
  }
}
const rawOf = async (mailbox: MailboxId) => {
  const [id = 0] = await db.fixture.store.listMessageIds(mailbox)
  return (await db.fixture.store.findMessage(mailbox, id))?.rawId ?? 0
}

describe('a node whose clock is two days ahead', () => {
  beforeEach(() => {
    // Only in this process: the clock of the server is correct.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * DAY })
    return () => vi.useRealTimers()
  })

  test('sweeps no mail that is live by the clock of the server', async () => {
    const serverTime = new Date(Date.now() - 2 * DAY)
    const times = { createdAt: serverTime, lifeMs: HOUR }
    const ann = await db.fixture.store.createSession(
      newSession('ann@box.test', { tokenHash: 'ann', ...times }),
    )
    assert.ok(ann)
    await db.fixture.send(['ann@box.test', 'any@pool.test'], { receivedAt: serverTime })
    await db.fixture.sweepAll(new Date())
    assert.equal((await db.fixture.subjects(ann.id)).length, 1)
    assert.equal((await db.fixture.subjects(POOL)).length, 1)
    assert.ok(await db.fixture.store.readRaw(await rawOf(POOL)))
  })
})

/** A client in the middle of a transaction. */
async function otherClient(statements: string): Promise<Client> {
  const client = new Client({ connectionString: db.opened.url })
  onTestFinished(() => client.end())
  await client.connect()
  await client.query(statements)
  return client
}

describe('partitions', () => {
  test('are created in advance for every day on which a session created today can expire', async () => {
    const ahead = await openPostgresTestMail(db.postgres, { aheadDays: 61 })
    const due = db.fixture.due(START)
    while (await ahead.store.sweep(due));
    const partitions = await db.postgres.run(
      `select count(*)::int from pg_inherits where inhparent = 'mail.raw_mail'::regclass`,
      ahead.database,
    )
    assert.deepEqual(partitions, [{ count: 62 + 1 }])
    await ahead.close()
  })

  test('of a past day are dropped, without a DELETE of any mail', async () => {
    await db.fixture.session('ann@box.test')
    await db.fixture.session('bob@box.test', DAY)
    const eve = await db.fixture.session('eve@box.test', 3 * DAY)
    await db.fixture.send(['ann@box.test', 'bob@box.test', 'eve@box.test', 'any@pool.test'])
    assert.deepEqual(await days('message'), [TODAY, TODAY + 1, TODAY + 3])
    await withoutDelete(() => db.fixture.sweepAll(at(2 * DAY)))
    assert.deepEqual(await days('message'), [TODAY + 2, TODAY + 3])
    assert.deepEqual(await days('raw_mail'), await days('message'))
    assert.equal(await count('from mail.message'), 1)
    assert.ok(await db.fixture.store.readRaw(await rawOf(eve.id)))
    assert.equal((await db.fixture.store.readSharedMailbox(POOL)).bytes, 0)
  })

  test('are dropped an hour after the end of their day, because the clock of another node may be behind', async () => {
    await db.fixture.session('ann@box.test')
    await db.fixture.send(['ann@box.test'])
    await db.fixture.sweepAll(at(12 * HOUR + HOUR - 1))
    assert.ok((await days('message')).includes(TODAY))
    await db.fixture.sweepAll(at(12 * HOUR + HOUR))
    assert.ok(!(await days('message')).includes(TODAY))
  })

  test('are not dropped while another client, such as a backup, has the tables locked, and no query waits long', async () => {
    const ann = await db.fixture.session('ann@box.test')
    await db.fixture.send(['ann@box.test'])
    const backup = await otherClient('begin; select count(*) from mail.message')
    await db.fixture.sweepAll(at(2 * DAY))
    assert.ok((await days('message')).includes(TODAY))
    assert.deepEqual(await db.fixture.store.listMessageIds(ann.id), [])
    await backup.end()
    await db.fixture.sweepAll(at(2 * DAY + MINUTE))
    assert.ok(!(await days('message')).includes(TODAY))
  })

  test('are not dropped before every session of that day is cleared', async () => {
    const ann = await db.fixture.session('ann@box.test')
    await db.fixture.send(['ann@box.test'])
    const blocker = await otherClient(
      `begin; select 1 from mail.session where id = ${ann.id} for update`,
    )
    await db.fixture.sweepAll(at(2 * DAY))
    assert.equal((await db.fixture.store.listMessageIds(ann.id)).length, 1)
    await blocker.end()
    await db.fixture.sweepAll(at(2 * DAY + MINUTE))
    assert.ok(!(await days('message')).includes(TODAY))
  })

  test('are dropped by two nodes that sweep at the same time, and the pool is counted off once', async () => {
    for (const [day, name] of ['a', 'b', 'c'].entries()) {
      await db.fixture.session(`${name}@box.test`, day * DAY)
      await db.fixture.send([`${name}@box.test`, `${name}@pool.test`])
    }
    const nodes = [db.fixture.store, db.fixture.other]
    for (let step = 0; step < 5; step += 1) {
      const due = db.fixture.due(at(5 * DAY + step * MINUTE))
      await Promise.all(nodes.map((store) => store.sweep(due)))
    }
    assert.ok((await days('message')).every((day) => day >= TODAY + 5))
    assert.deepEqual(await days('raw_mail'), await days('message'))
    assert.equal((await db.fixture.store.readSharedMailbox(POOL)).count, 0)
  })

  test('are not dropped while a session is being extended out of them, and its mail remains', async () => {
    const ann = await db.fixture.session('ann@box.test')
    await db.fixture.send(['ann@box.test'])
    const blocker = await otherClient('begin; select 1 from mail.raw_mail for update')
    const extending = db.fixture.other.extendSession(ann.id, at(4 * DAY), START)
    const waits = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await waitUntil(async () => (await count(waits)) === 1)
    await db.fixture.sweepAll(at(2 * DAY))
    assert.ok((await days('message')).includes(TODAY))
    await blocker.end()
    assert.ok(await extending)
    await db.fixture.sweepAll(at(2 * DAY + MINUTE))
    assert.ok(!(await days('message')).includes(TODAY))
    assert.ok(await db.fixture.store.readRaw(await rawOf(ann.id)))
  })

  test('are created once by concurrent writers when mail arrives before the sweep', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const [day, name] of names.entries())
      await db.fixture.session(`${name}@box.test`, day * DAY)
    const recipients = await db.fixture.accepted(names.map((name) => `${name}@box.test`))
    const added = await Promise.all(
      recipients.slice(1).flatMap((recipient) =>
        [db.fixture.store, db.fixture.other].map((store) =>
          store.addMail({
            recipients: [recipient],
            envelope: { clientIp: '', helo: '', mailFrom: '', tls: undefined, protocol: '' },
            head: { senderName: '', senderEmail: '', subject: '' },
            raw: new Uint8Array(9),
            receivedAt: START,
          }),
        ),
      ),
    )
    assert.ok(added.every(({ outcome }) => outcome === 'stored'))
    assert.deepEqual(
      await days('message'),
      [1, 2, 3, 4, 5].map((day) => TODAY + day),
    )
  })
})

describe('raw mail', () => {
  test('is stored once for all sessions that expire on the same day', async () => {
    await db.fixture.session('a@box.test')
    await db.fixture.session('b@box.test')
    await db.fixture.session('c@box.test', DAY)
    await db.fixture.send(['a@box.test', 'b@box.test', 'c@box.test', 'p@pool.test', 'q@pool.test'])
    const rows = await run('select bucket, refs from mail.raw_mail order by bucket')
    assert.deepEqual(rows, [
      { bucket: TODAY, refs: 2 },
      { bucket: TODAY + 1, refs: 3 },
    ])
  })

  test('of two sessions extended to the same day is shared again', async () => {
    const ann = await db.fixture.session('ann@box.test')
    const bob = await db.fixture.session('bob@box.test')
    await db.fixture.send(['ann@box.test', 'bob@box.test'])
    await Promise.all([
      db.fixture.store.extendSession(ann.id, at(2 * DAY), START),
      db.fixture.other.extendSession(bob.id, at(2 * DAY), START),
    ])
    const rows = await run('select bucket, refs from mail.raw_mail')
    assert.deepEqual(rows, [{ bucket: TODAY + 4, refs: 2 }])
  })

  test('of a session ended by its owner is deleted soon, not on the day of its expiry', async () => {
    const ann = await db.fixture.session('ann@box.test', 20 * DAY)
    await db.fixture.send(['ann@box.test'])
    await db.fixture.store.endSession(ann.id, at(1))
    await db.fixture.sweepAll(at(2 * MINUTE))
    assert.equal(await count('from mail.raw_mail'), 0)
    assert.equal(await count('from mail.message'), 0)
  })

  test('of a session that expires after the last partition is in the far partition, and deleted on expiry', async () => {
    const ann = await db.fixture.session('ann@box.test', 100 * DAY)
    await db.fixture.session('bob@box.test', 101 * DAY)
    await db.fixture.send(['ann@box.test', 'bob@box.test'])
    await db.fixture.send(['ann@box.test'])
    assert.equal(splitRawId(await rawOf(ann.id)).bucket, FAR_PARTITION)
    await db.fixture.sweepAll(at(100 * DAY - 1))
    assert.equal((await db.fixture.store.listMessageIds(ann.id)).length, 2)
    await db.fixture.sweepAll(at(100 * DAY + MINUTE))
    assert.equal(await count('from mail.message'), 1)
    assert.deepEqual(await run('select refs from mail.raw_mail'), [{ refs: 1 }])
  })
})

describe('shared mailboxes', () => {
  test('are counted correctly if the retention was shorter when the mail arrived', async () => {
    const longer = await openPostgresTestMail(db.postgres, { poolMs: DAY })
    const second = await openFixture(longer)
    await second.send(['any@pool.test'], { senderNetwork: '192.0.2.7' })
    const before = await longer.store.readSharedMailbox(POOL)
    const due = { ...second.due(at(2 * DAY)), poolMs: 7 * DAY }
    while (await longer.other.sweep(due));
    const after = await longer.store.readSharedMailbox(POOL)
    assert.deepEqual([after.count, after.bytes], [0, 0])
    assert.ok(after.version > before.version)
    assert.deepEqual(await db.postgres.run('select * from mail.sender_share', longer.database), [])
    assert.deepEqual(await longer.store.listMessageIds(POOL), [])
    await second.close()
  })

  test('with a long retention are cleared by DELETE', async () => {
    const longest = await openPostgresTestMail(db.postgres, { operatorMs: 100 * DAY })
    const second = await openFixture(longest)
    await second.send(['abuse@box.test'])
    const remaining = () => db.postgres.run('select id from mail.message', longest.database)
    for (const [day, expected] of [
      [99, 1],
      [100, 0],
    ] as const) {
      const due = { ...second.due(at(day * DAY)), operatorMs: 100 * DAY }
      while (await longest.store.sweep(due));
      assert.equal((await longest.store.listMessageIds(OPERATOR)).length, expected)
      assert.equal((await remaining()).length, expected)
    }
    await second.close()
  })

  test('accept mail with a receive time before the last sweep', async () => {
    await db.fixture.send(['any@pool.test'])
    await db.fixture.sweepAll(at(2 * DAY))
    await db.fixture.send(['any@pool.test'])
    assert.equal((await db.fixture.store.listMessageIds(POOL)).length, 1)
    assert.equal((await db.fixture.store.readSharedMailbox(POOL)).count, 1)
    await db.fixture.sweepAll(at(2 * DAY + 1))
    assert.deepEqual(await db.fixture.store.listMessageIds(POOL), [])
    assert.equal((await db.fixture.store.readSharedMailbox(POOL)).count, 0)
  })
})

test('a raw id is a safe integer that encodes its bucket and serial, up to the maximum', () => {
  for (const [bucket, serial] of [
    [0, 0],
    [TODAY, 1],
    [TODAY, 2 ** 38 - 1],
    [FAR_PARTITION, 2 ** 38 - 1],
  ] as const) {
    const rawId = rawIdOf(bucket, serial)
    assert.ok(Number.isSafeInteger(rawId))
    assert.deepEqual(splitRawId(rawId), { bucket, serial })
  }
})
