import { describe, expect, test } from 'vitest'
import { DAY, HOUR, head, newMail, openFixture, START } from '../../../../test/kit/store/fixture.ts'
import { openPostgresTestMail } from '../../../../test/kit/store/postgres-stores.ts'
import type { Recipient } from '../../../mail/rules/recipient.ts'
import { mailForTests } from '../testing/mail-for-tests.ts'

const LIMITS = {
  mailbox: { maxMessages: 1_000, maxBytes: 1e8 },
  poolMaxBytes: 1e8,
  ownMaxBytes: 1e8,
  maxMailBytes: 1e7,
}

const db = mailForTests({ limits: LIMITS })

const commits = async () => {
  const rows = await db.postgres.run('select distinct xmin from mail.message', db.opened.database)
  return rows.length
}

describe('queued mails', () => {
  test('are stored in one commit', async () => {
    await db.fixture.session('ann@box.test')
    const recipients = await db.fixture.accepted(['ann@box.test', 'any@pool.test'])
    await Promise.all(
      Array.from({ length: 60 }, () => db.fixture.store.addMail(newMail(recipients))),
    )
    expect(await commits()).toBe(1)
  })

  for (const [name, bad] of [
    ['the server rejects', { receivedAt: halfAMillisecond() }],
    ['is malformed', { head: undefined as never }],
  ] as const) {
    test(`are stored without one of them that ${name}`, async () => {
      const { id } = await db.fixture.session('ann@box.test')
      const recipients = await db.fixture.accepted(['ann@box.test'])
      const mails = [...Array(9).keys()].map((at) =>
        newMail(recipients, { head: head(`mail ${at}`), ...(at === 5 ? bad : {}) }),
      )
      const outcomes = await Promise.allSettled(mails.map((mail) => db.fixture.store.addMail(mail)))
      expect(outcomes.map(({ status }) => status === 'fulfilled')).toStrictEqual(
        mails.map((_, at) => at !== 5),
      )
      const expected = [8, 7, 6, 4, 3, 2, 1, 0].map((at) => `mail ${at}`)
      expect(await db.fixture.subjects(id)).toStrictEqual(expected)
    })
  }

  test('are each checked against the mailbox accepted at RCPT, even if the address has since been assigned', async () => {
    const [beforeSession, other] = [['x@pool.test'], ['any@pool.test']].map((to) =>
      db.fixture.accepted(to),
    )
    const accepted = [await other, await beforeSession].map((to) => to ?? [])
    const { id } = await db.fixture.session('x@pool.test')
    accepted.push(await db.fixture.accepted(['x@pool.test']))
    const results = await Promise.all(accepted.map((to) => db.fixture.store.addMail(newMail(to))))
    expect(results.map(({ outcome }) => outcome)).toStrictEqual([
      'stored',
      'no_recipients',
      'stored',
    ])
    expect((await db.fixture.subjects(id)).length).toBe(1)
  })

  test('of different sizes are returned unchanged', async () => {
    const { id } = await db.fixture.session('ann@box.test')
    const recipients = await db.fixture.accepted(['ann@box.test'])
    const raws = [0, 1, 2_000, 300_000, 70_000, 5].map((size, seed) =>
      Uint8Array.from({ length: size }, (_, at) => (at * at + seed) % 251),
    )
    await Promise.all(
      raws.map((raw, at) =>
        db.fixture.store.addMail(newMail(recipients, { raw: raw.slice(), head: head(String(at)) })),
      ),
    )
    for (const { id: messageId, subject } of await db.fixture.store.listMessages(id, ALL)) {
      const message = await db.fixture.store.findMessage(id, messageId)
      const stored = await db.fixture.other.readRaw(message?.rawId ?? 0)
      expect(new Uint8Array(stored?.bytes ?? [])).toStrictEqual(raws[Number(subject)])
    }
  })

  test('may contain any character, even NUL, which PostgreSQL rejects', async () => {
    const { id } = await db.fixture.session('ann@box.test')
    const recipients = await db.fixture.accepted(['ann@box.test'])
    const unusual = `a\0b "quoted", \\back\\ {brace} NULL \u{1f600} \ud800`
    const mail = newMail(recipients, { head: head(unusual) })
    mail.envelope.helo = 'x\0y'
    await db.fixture.store.addMail(mail)
    const [message] = await db.fixture.store.listMessages(id, ALL)
    expect(message?.subject).toBe(unusual.replace('\0', '\u{fffd}').replace('\ud800', '\u{fffd}'))
    const found = await db.fixture.store.findMessage(id, message?.id ?? 0)
    expect((await db.fixture.store.readRaw(found?.rawId ?? 0))?.helo).toBe('x\u{fffd}y')
  })
})

const ALL = { sinceId: 0, limit: 100 }

function halfAMillisecond(): Date {
  return Object.assign(new Date(START), { getTime: () => START.getTime() + 0.5 })
}

describe('nodes that add mail to the same mailboxes', () => {
  test('never deadlock', async () => {
    const keys = ['key-1', 'key-2', undefined]
    const names = [...Array(6).keys()].map((at) => `s${at}@box.test`)
    for (const [at, name] of names.entries()) await db.fixture.session(name, HOUR, keys[at % 3])
    const recipients = await db.fixture.accepted([...names, 'any@pool.test', 'abuse@box.test'])
    const rotated = (by: number): Recipient[] => [
      ...recipients.slice(by % recipients.length),
      ...recipients.slice(0, by % recipients.length),
    ]
    const send = async (store: typeof db.fixture.store, by: number) => {
      for (let round = 0; round < 15; round += 1) {
        const order = round % 2 === 0 ? rotated(by + round) : rotated(by + round).toReversed()
        const result = await store.addMail(newMail(order.slice(0, 5)))
        expect(result.outcome).toBe('stored')
      }
    }
    const extend = async (store: typeof db.fixture.store) => {
      for (let round = 2; round < 8; round += 1) {
        for (const { mailbox } of recipients.slice(0, 6)) {
          const until = new Date(START.getTime() + (round % 4) * DAY + HOUR)
          expect(await store.extendSession(mailbox, until, START)).toBeTruthy()
        }
      }
    }
    await Promise.all([
      send(db.fixture.store, 0),
      send(db.fixture.other, 3),
      extend(db.fixture.store),
      extend(db.fixture.other),
    ])
    const ids = await Promise.all(
      recipients.map(({ mailbox }) => db.fixture.store.listMessageIds(mailbox)),
    )
    expect(ids.flat().length).toBe(2 * 15 * 5)
    const [refs] = await db.postgres.run(
      'select sum(refs)::int as refs from mail.raw_mail',
      db.opened.database,
    )
    expect(refs).toStrictEqual({ refs: 150 })
  })

  test('fill a mailbox exactly to its limit', async () => {
    const small = await openPostgresTestMail(db.postgres)
    const second = await openFixture(small)
    const { id } = await second.session('ann@box.test')
    const recipients = await second.accepted(['ann@box.test'])
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        (at % 2 === 0 ? small.store : small.other).addMail(newMail(recipients)),
      ),
    )
    expect(results.filter(({ outcome }) => outcome === 'stored').length).toBe(5)
    expect((await small.store.listMessageIds(id)).length).toBe(5)
    await second.close()
  })
})
