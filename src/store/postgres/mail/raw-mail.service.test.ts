import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { at, DAY, HOUR, newMail } from '../../../../test/kit/store/fixture.ts'
import type { MailboxId } from '../../../mail/rules/session.ts'
import { mailForTests } from '../testing/mail-for-tests.ts'

const db = mailForTests()

const bytes = (text: string) => new TextEncoder().encode(text)

async function textsOf(mailbox: MailboxId): Promise<string[]> {
  const ids = await db.fixture.store.listMessageIds(mailbox)
  return await Promise.all(
    ids.map(async (id) => {
      const message = await db.fixture.store.findMessage(mailbox, id)
      const raw = await db.fixture.store.readRaw(message?.rawId ?? 0)
      return Buffer.from(raw?.bytes ?? []).toString()
    }),
  )
}

/** A client that locks the row of a session until its connection ends. */
async function holdSession(mailbox: MailboxId): Promise<Client> {
  const client = new Client({ connectionString: db.opened.url })
  client.on('error', () => {})
  await client.connect()
  await client.query('begin')
  await client.query(`select 1 from mail.session where id = ${mailbox} for update`)
  return client
}

const WAITING = `select 1 from pg_stat_activity where wait_event_type = 'Lock'`

test('small mail is compressed by the server, and by the node if its stored bytes are counted', async () => {
  const { id } = await db.fixture.session('ann@box.test', HOUR)
  const raw = Buffer.alloc(8_000, 'text ')
  await db.fixture.send(['ann@box.test'], { raw })
  await db.fixture.send(['any@pool.test'], { raw })
  const rows = await db.run(
    `select octet_length(zstd) > 8000 as raw, pg_column_size(zstd) < 200 as small,
       pg_column_compression(zstd) as method
     from mail.raw_mail order by bucket`,
  )
  expect(rows).toStrictEqual([
    { raw: true, small: true, method: 'lz4' },
    { raw: false, small: true, method: null },
  ])
  expect(await textsOf(id)).toStrictEqual([raw.toString()])
})

describe('serials of raw mails', () => {
  test('are not reused after a crash during their first use', async () => {
    const ann = await db.fixture.session('ann@box.test', HOUR)
    const bob = await db.fixture.session('bob@box.test', 2 * DAY)
    const toAnn = await db.fixture.accepted(['ann@box.test'])
    const toBob = await db.fixture.accepted(['bob@box.test'])
    // From here on, the sequence is written to the log before its next value is used.
    await db.postgres.run('checkpoint')
    await holdSession(ann.id)
    const failure = expect(db.fixture.store.addMail(newMail(toAnn))).rejects.toThrow()
    while ((await db.postgres.run(WAITING)).length === 0) await new Promise(setImmediate)
    await db.postgres.stop('SIGQUIT')
    await failure
    await db.postgres.start()

    for (const text of ['1', '2', '3']) {
      await db.fixture.other.addMail(newMail(toBob, { raw: bytes(`for bob ${text}`) }))
      await db.fixture.store.addMail(newMail(toAnn, { raw: bytes(`for ann ${text}`) }))
    }
    expect(await db.fixture.store.extendSession(ann.id, at(DAY + HOUR), at(1))).toBeTruthy()
    expect(await textsOf(ann.id)).toStrictEqual(['for ann 3', 'for ann 2', 'for ann 1'])
    expect(await textsOf(bob.id)).toStrictEqual(['for bob 3', 'for bob 2', 'for bob 1'])
  })

  test('that repeat never expose the mail of another mailbox', async () => {
    const ann = await db.fixture.session('ann@box.test', HOUR)
    const bob = await db.fixture.session('bob@box.test', 2 * DAY)
    await db.fixture.send(['ann@box.test'], { raw: bytes('for ann') })
    await db.fixture.send(['bob@box.test'], { raw: bytes('for bob') })
    await db.run('update mail.message set raw_id = ((raw_id >> 38) << 38) + 7')
    await db.run('update mail.raw_mail set serial = 7')
    await expect(db.fixture.store.extendSession(ann.id, at(DAY + HOUR), at(1))).rejects.toThrow(
      /another mail has the same serial/,
    )
    expect(await textsOf(ann.id)).toStrictEqual(['for ann'])
    expect(await textsOf(bob.id)).toStrictEqual(['for bob'])
  })
})
