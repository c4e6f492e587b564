import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LEDGER_KEY } from '../../../test/kit/store/address-ledger.ts'
import { address, at, HOUR, newMail, START } from '../../../test/kit/store/fixture.ts'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { keyMailReads } from '../../mail/key-mail-store.ts'
import type { MailboxId } from '../../mail/rules/session.ts'
import { type Db, MAIL_FILE, openWritable } from './files.ts'
import { sqliteMailWrites } from './mail-store.ts'
import { openMigrated } from './migrate.ts'
import { syncMethods } from './operations.ts'
import { recordPlans } from './testing/plans.ts'

const KEY = 'key-1'
const FAR = 2 ** 52
const PAGE = { sinceId: 0, beforeId: undefined, limit: 100 }

describe('a mail.db of schema 1', () => {
  let folder: ReturnType<typeof tempFolder>
  let db: Db
  beforeEach(() => {
    folder = tempFolder()
    const old = openWritable(join(folder.path, MAIL_FILE))
    old.exec(readFileSync(new URL('./migrations/mail/0001.sql', import.meta.url), 'utf8'))
    old.pragma('user_version = 1')
    old.exec(`insert into mail_domain (name, sessions, reader) values ('box.test', 1, 1)`)
    const session = old.prepare(
      `insert into session (id, address, token_hash, key_id, created_at, expires_at, last_id, count)
       values (?, ?, ?, ?, 0, ?, ?, 1)`,
    )
    const expiresAt = at(HOUR).getTime()
    session.run(101, 'plain@box.test', 'h1', null, expiresAt, 11)
    session.run(102, 'own@box.test', 'h2', KEY, expiresAt, FAR)
    const message = old.prepare(
      `insert into message values (?, ?, ?, ?, 'Ann', 'ann@sender.test', ?, 0, 3)`,
    )
    message.run(101, 11, 1, 'plain@box.test', 'private')
    message.run(102, FAR, 2, 'own@box.test', 'own')
    message.run(1, 12, 3, 'any@box.test', 'pool')
    message.run(2, 13, 4, 'abuse@box.test', 'complaint')
    old.exec(`insert into pool_address values ('any@box.test', 1, 3)`)
    old.close()
    db = openMigrated(folder.path, 'mail')
  })
  afterEach(() => {
    db.close()
    folder.remove()
  })

  const scope = { keyId: KEY, pool: true, to: undefined, now: START }
  const seen = (more = {}) =>
    syncMethods(db, keyMailReads)
      .listKeyMail({ ...scope, ...more }, PAGE)
      .map((message) => message.subject)

  test('keeps its mail, and a key sees only what it may', () => {
    expect(db.prepare('select count(*) from message').pluck().get()).toBe(4)
    expect(seen()).toStrictEqual(['own', 'pool'])
    expect(seen({ pool: false })).toStrictEqual(['own'])
    expect(seen({ keyId: 'key-2' })).toStrictEqual(['pool'])
    expect(seen({ to: address('any@box.test') })).toStrictEqual(['pool'])
    expect(seen({ to: address('plain@box.test') })).toStrictEqual([])
    expect(seen({ now: at(HOUR) })).toStrictEqual(['pool'])
  })

  test('accepts mail with ids above the existing ones, and its versions change', () => {
    const limits = {
      mailbox: { maxMessages: 9, maxBytes: 999 },
      poolMaxBytes: 999,
      ownMaxBytes: 999,
      maxMailBytes: 999,
    }
    const { addMail } = sqliteMailWrites(db, { limits, ledgerKey: LEDGER_KEY })
    const before = syncMethods(db, keyMailReads).keyMailVersion(scope)
    for (const [to, mailbox] of [
      ['new@box.test', 1],
      ['own@box.test', 102],
    ] as const) {
      const recipient = { address: address(to), mailbox: mailbox as MailboxId }
      addMail(newMail([recipient]))
    }
    expect(seen()).toStrictEqual(['hello', 'hello', 'own', 'pool'])
    expect(syncMethods(db, keyMailReads).keyMailVersion(scope)).not.toBe(before)
  })
})

test('every query uses an index, and none scans a table', () => {
  const folder = tempFolder()
  const db = openMigrated(folder.path, 'mail')
  const { recordingDb, plans, sorted } = recordPlans(db)
  const reads = syncMethods(recordingDb, keyMailReads)
  for (const pool of [true, false]) {
    for (const to of [undefined, address('a@box.test')]) {
      const scope = { keyId: KEY, pool, to, now: START }
      reads.keyMailVersion(scope)
      for (const oldestFirst of [true, false]) reads.listKeyMail(scope, { ...PAGE, oldestFirst })
      reads.listKeyMailHeads(scope, PAGE)
      reads.readKeyMail(scope, [9])
      reads.lastExpired(scope, 1)
    }
  }
  db.close()
  folder.remove()
  const tables = plans.filter((step) => /\b(message|session|pool_address|key_view)\b/.test(step))
  expect(tables.length, plans.join('\n')).toBeGreaterThanOrEqual(12)
  for (const step of tables) expect(step).toMatch(/^SEARCH/)
  // A large mailbox is never scanned for one of its addresses.
  const caught = 'message_permanent (recipient=? AND id>? AND id<?)'
  expect(
    plans.some((step) => step.includes(caught)),
    plans.join('\n'),
  ).toBe(true)
  const poolSteps = plans.filter((step) => step.includes('message_in_pool (recipient=?'))
  expect(poolSteps.length).toBe(5)
  // Pages are read in the order of their ids, however large the pool is.
  expect(sorted).toStrictEqual([])
  expect(
    plans.some((step) => step.includes('message_of_key (key_id=? AND id>? AND id<?)')),
  ).toBeTruthy()
  expect(
    plans.some((step) => step.includes('session_of_key (key_id=? AND expires_at>?)')),
  ).toBeTruthy()
  const ended = 'session_of_key (key_id=? AND expires_at>? AND expires_at<?)'
  expect(plans.some((step) => step.includes(ended))).toBeTruthy()
})
