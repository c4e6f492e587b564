import { Client } from 'pg'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  at,
  DAY,
  HOUR,
  MINUTE,
  newSession,
  openFixture,
  START,
} from '../../../../test/kit/store/fixture.ts'
import { openPostgresTestMail } from '../../../../test/kit/store/postgres-stores.ts'
import { waitUntil } from '../../../../test/kit/wait-until.ts'
import { type MailboxId, OPERATOR, POOL } from '../../../mail/rules/session.ts'
import { mailForTests } from '../testing/mail-for-tests.ts'
import { dayOf, FAR_PARTITION, rawIdOf, splitRawId } from './partition-key.ts'

const TODAY = dayOf(START)

const db = mailForTests()
const { run } = db
const count = async (sql: string) => {
  const [row] = await run<{ count: string }>(`select count(*) ${sql}`)
  return Number(row?.count)
}
/** The days that have a partition. */
const days = async () =>
  (
    await run<{ day: string }>(
      `select substring(inhrelid::regclass::text from '[0-9]+$') as day from pg_inherits
       where inhparent = 'mail.raw_mail'::regclass`,
    )
  )
    .flatMap(({ day }) => (day === null ? [] : [Number(day)]))
    .sort()
/** Any DELETE of raw mail fails meanwhile: it may only be removed with its partition. */
const withoutDelete = async (operation: () => Promise<void>) => {
  await run(`create function no() returns trigger language plpgsql as
         $$ begin raise 'somebody deletes mail'; end $$;
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
    expect.assert(ann)
    await db.fixture.send(['ann@box.test', 'any@pool.test'], { receivedAt: serverTime })
    await db.fixture.sweepAll(await db.fixture.store.clampTime(new Date()))
    expect((await db.fixture.subjects(ann.id)).length).toBe(1)
    expect((await db.fixture.subjects(POOL)).length).toBe(1)
    expect(await db.fixture.store.readRaw(await rawOf(POOL))).toBeTruthy()
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
    expect(partitions).toStrictEqual([{ count: 62 + 1 }])
    await ahead.close()
  })

  test('of a past day are dropped, without a DELETE of any raw mail', async () => {
    await db.fixture.session('ann@box.test')
    await db.fixture.session('bob@box.test', DAY)
    const eve = await db.fixture.session('eve@box.test', 3 * DAY)
    await db.fixture.send(['ann@box.test', 'bob@box.test', 'eve@box.test', 'any@pool.test'])
    expect(await days()).toStrictEqual([TODAY, TODAY + 1, TODAY + 3])
    await withoutDelete(() => db.fixture.sweepAll(at(2 * DAY)))
    expect(await days()).toStrictEqual([TODAY + 2, TODAY + 3])
    expect(await count('from mail.message')).toBe(1)
    expect(await db.fixture.store.readRaw(await rawOf(eve.id))).toBeTruthy()
    expect((await db.fixture.store.readSharedMailbox(POOL)).bytes).toBe(0)
  })

  test('are dropped an hour after the end of their day, because the clock of another node may be behind', async () => {
    await db.fixture.session('ann@box.test')
    await db.fixture.send(['ann@box.test'])
    await db.fixture.sweepAll(at(12 * HOUR + HOUR - 1))
    expect(await days()).toContain(TODAY)
    await db.fixture.sweepAll(at(12 * HOUR + HOUR))
    expect(await days()).not.toContain(TODAY)
  })

  test('are not dropped while another client, such as a backup, has the tables locked, and no query waits long', async () => {
    const ann = await db.fixture.session('ann@box.test')
    await db.fixture.send(['ann@box.test'])
    const backup = await otherClient('begin; select count(*) from mail.raw_mail')
    await db.fixture.sweepAll(at(2 * DAY))
    expect(await days()).toContain(TODAY)
    expect(await db.fixture.store.listMessageIds(ann.id)).toStrictEqual([])
    await backup.end()
    await db.fixture.sweepAll(at(2 * DAY + MINUTE))
    expect(await days()).not.toContain(TODAY)
  })

  test('are not dropped before every session of that day is cleared', async () => {
    const ann = await db.fixture.session('ann@box.test')
    await db.fixture.send(['ann@box.test'])
    const blocker = await otherClient(
      `begin; select 1 from mail.session where id = ${ann.id} for update`,
    )
    await db.fixture.sweepAll(at(2 * DAY))
    expect((await db.fixture.store.listMessageIds(ann.id)).length).toBe(1)
    await blocker.end()
    await db.fixture.sweepAll(at(2 * DAY + MINUTE))
    expect(await days()).not.toContain(TODAY)
  })

  test('are created while every step of the sweep has more to delete', async () => {
    await run(`insert into mail.session (id, created_at, expires_at)
      select 1000 + n, 0, 0 from generate_series(1, 400) as n`)
    expect(await db.fixture.store.sweep(db.fixture.due(START))).toBe(true)
    expect(await days()).toStrictEqual([TODAY, TODAY + 1])
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
    expect((await days()).every((day) => day >= TODAY + 5)).toBeTruthy()
    expect((await db.fixture.store.readSharedMailbox(POOL)).count).toBe(0)
  })

  test('are not dropped while a session is being extended out of them, and its mail remains', async () => {
    const ann = await db.fixture.session('ann@box.test')
    await db.fixture.send(['ann@box.test'])
    const blocker = await otherClient('begin; select 1 from mail.raw_mail for update')
    const extending = db.fixture.other.extendSession(ann.id, at(4 * DAY), START)
    const waits = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await waitUntil(async () => (await count(waits)) === 1)
    await db.fixture.sweepAll(at(2 * DAY))
    expect(await days()).toContain(TODAY)
    await blocker.end()
    expect(await extending).toBeTruthy()
    await db.fixture.sweepAll(at(2 * DAY + MINUTE))
    expect(await days()).not.toContain(TODAY)
    expect(await db.fixture.store.readRaw(await rawOf(ann.id))).toBeTruthy()
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
    expect(added.every(({ outcome }) => outcome === 'stored')).toBeTruthy()
    expect(await days()).toStrictEqual([1, 2, 3, 4, 5].map((day) => TODAY + day))
  })

  test('are created for all recipients of a mail, whatever their days', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    for (const [day, name] of names.entries())
      await db.fixture.session(`${name}@box.test`, day * DAY + HOUR)
    const to = names.map((name) => `${name}@box.test`)
    expect((await db.fixture.send(to)).outcome).toBe('stored')
    expect((await days()).length).toBe(names.length)
  })
})

describe('raw mail', () => {
  test('is stored once for all sessions that expire on the same day', async () => {
    await db.fixture.session('a@box.test')
    await db.fixture.session('b@box.test')
    await db.fixture.session('c@box.test', DAY)
    await db.fixture.send(['a@box.test', 'b@box.test', 'c@box.test', 'p@pool.test', 'q@pool.test'])
    const rows = await run('select bucket, refs from mail.raw_mail order by bucket')
    expect(rows).toStrictEqual([
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
    expect(rows).toStrictEqual([{ bucket: TODAY + 4, refs: 2 }])
  })

  test('of a session ended by its owner is deleted soon, not on the day of its expiry', async () => {
    const ann = await db.fixture.session('ann@box.test', 20 * DAY)
    await db.fixture.send(['ann@box.test'])
    await db.fixture.store.endSession(ann.id, at(1))
    await db.fixture.sweepAll(at(2 * MINUTE))
    expect(await count('from mail.raw_mail')).toBe(0)
    expect(await count('from mail.message')).toBe(0)
  })

  test('of a session that expires after the last partition is in the far partition, and deleted on expiry', async () => {
    const ann = await db.fixture.session('ann@box.test', 100 * DAY)
    await db.fixture.session('bob@box.test', 101 * DAY)
    await db.fixture.send(['ann@box.test', 'bob@box.test'])
    await db.fixture.send(['ann@box.test'])
    expect(splitRawId(await rawOf(ann.id)).bucket).toBe(FAR_PARTITION)
    await db.fixture.sweepAll(at(100 * DAY - 1))
    expect((await db.fixture.store.listMessageIds(ann.id)).length).toBe(2)
    await db.fixture.sweepAll(at(100 * DAY + MINUTE))
    expect(await count('from mail.message')).toBe(1)
    expect(await run('select refs from mail.raw_mail')).toStrictEqual([{ refs: 1 }])
  })
})

describe('shared mailboxes', () => {
  test('keep their mail if the retention was shorter when it arrived, and its partition with it', async () => {
    const longer = await openPostgresTestMail(db.postgres, { poolMs: DAY })
    const second = await openFixture(longer)
    await second.send(['any@pool.test'], { senderNetwork: '192.0.2.7' })
    await second.session('ann@box.test', 2 * DAY)
    await second.send(['ann@box.test'])
    const [id = 0] = await longer.store.listMessageIds(POOL)
    const message = await longer.store.findMessage(POOL, id)
    const sweep = async (ms: number) => {
      while (await longer.other.sweep({ ...second.due(at(ms)), poolMs: 7 * DAY }));
    }
    const raws = () => db.postgres.run('select bucket from mail.raw_mail', longer.database)
    await sweep(6 * DAY)
    expect(await longer.store.readRaw(message?.rawId ?? 0)).toBeTruthy()
    expect(await raws(), 'later partitions are dropped').toStrictEqual([{ bucket: TODAY + 1 }])
    await sweep(7 * DAY)
    const { count, bytes } = await longer.store.readSharedMailbox(POOL)
    expect([count, bytes]).toStrictEqual([0, 0])
    expect(await db.postgres.run('select * from mail.sender_share', longer.database)).toStrictEqual(
      [],
    )
    expect(await longer.store.readRaw(message?.rawId ?? 0)).toBeUndefined()
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
      expect((await longest.store.listMessageIds(OPERATOR)).length).toBe(expected)
      expect((await remaining()).length).toBe(expected)
    }
    await second.close()
  })

  test('accept mail with a receive time before the last sweep', async () => {
    await db.fixture.send(['any@pool.test'])
    await db.fixture.sweepAll(at(2 * DAY))
    await db.fixture.send(['any@pool.test'])
    expect((await db.fixture.store.listMessageIds(POOL)).length).toBe(1)
    expect((await db.fixture.store.readSharedMailbox(POOL)).count).toBe(1)
    await db.fixture.sweepAll(at(2 * DAY + 1))
    expect(await db.fixture.store.listMessageIds(POOL)).toStrictEqual([])
    expect((await db.fixture.store.readSharedMailbox(POOL)).count).toBe(0)
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
    expect(Number.isSafeInteger(rawId)).toBeTruthy()
    expect(splitRawId(rawId)).toStrictEqual({ bucket, serial })
  }
})
