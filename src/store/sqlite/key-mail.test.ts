import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { LEDGER_KEY } from '../../../test/support/address-ledger.ts'
import { openSqliteTestMail, tempFolder } from '../../../test/support/stores.ts'
import type { MailboxId } from '../../mail/rules/session.ts'
import { address, at, HOUR, newMail, START } from '../contract/fixture.ts'
import { keyMailContract } from '../contract/key-mail.contract.ts'
import { keyMailOrderContract } from '../contract/key-mail-order.contract.ts'
import { keyMailVersionContract } from '../contract/key-mail-version.contract.ts'
import { type Db, MAIL_FILE, openWritable } from './files.ts'
import { keyMailReads } from './mail/key-mail.ts'
import { mailWrites } from './mail-store.ts'
import { openMigrated } from './migrate.ts'

const KEY = 'key-1'
const FAR = 2 ** 52
const PAGE = { sinceId: 0, beforeId: undefined, limit: 100 }

describe('SQLite', () => {
  describe('mail visible to a key', () => keyMailContract(openSqliteTestMail))
  describe('version of the mail of a key', () => keyMailVersionContract(openSqliteTestMail, 15))
  describe('order of the mail of a key', () => keyMailOrderContract(openSqliteTestMail))
})

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
    keyMailReads(db)
      .listKeyMail({ ...scope, ...more }, PAGE)
      .map((message) => message.subject)

  test('keeps its mail, and a key sees only what it may', () => {
    assert.equal(db.prepare('select count(*) from message').pluck().get(), 4)
    assert.deepEqual(seen(), ['own', 'pool'])
    assert.deepEqual(seen({ pool: false }), ['own'])
    assert.deepEqual(seen({ keyId: 'key-2' }), ['pool'])
    assert.deepEqual(seen({ to: address('any@box.test') }), ['pool'])
    assert.deepEqual(seen({ to: address('plain@box.test') }), [])
    assert.deepEqual(seen({ now: at(HOUR) }), ['pool'])
  })

  test('accepts mail with ids above the existing ones, and its versions change', () => {
    const limits = {
      mailbox: { maxMessages: 9, maxBytes: 999 },
      poolMaxBytes: 999,
      maxMailBytes: 999,
    }
    const { addMail } = mailWrites(db, { limits, ledgerKey: LEDGER_KEY }, () => {})
    const before = keyMailReads(db).keyMailVersion(scope)
    for (const [to, mailbox] of [
      ['new@box.test', 1],
      ['own@box.test', 102],
    ] as const) {
      const recipient = { address: address(to), mailbox: mailbox as MailboxId }
      addMail(newMail([recipient]))
    }
    assert.deepEqual(seen(), ['hello', 'hello', 'own', 'pool'])
    assert.notEqual(keyMailReads(db).keyMailVersion(scope), before)
  })
})

test('every query uses an index, and none scans a table', () => {
  const folder = tempFolder()
  const db = openMigrated(folder.path, 'mail')
  const plans: string[] = []
  const sorted: string[] = []
  const parameters = {
    key: KEY,
    to: 'a@box.test',
    now: 0,
    since: 0,
    before: 9,
    limit: 9,
    ids: '[9]',
    sinceTime: 0,
    pool: 1,
  }
  const recordingDb = new Proxy(db, {
    get(target, name) {
      if (name !== 'prepare') return Reflect.get(target, name)
      return (sql: string) => {
        const rows = target.prepare(`explain query plan ${sql}`).all(parameters) as {
          detail: string
        }[]
        plans.push(...rows.map(({ detail }) => detail))
        if (rows.some(({ detail }) => detail.includes('TEMP B-TREE'))) sorted.push(sql)
        return target.prepare(sql)
      }
    },
  })
  keyMailReads(recordingDb)
  db.close()
  folder.remove()
  const tables = plans.filter((step) => /\b(message|session|pool_address|key_view)\b/.test(step))
  assert.ok(tables.length >= 12, plans.join('\n'))
  for (const step of tables) assert.match(step, /^SEARCH/)
  // A large mailbox is never scanned for one of its addresses.
  const poolSteps = plans.filter((step) => step.includes('message_in_pool (recipient=?'))
  assert.equal(poolSteps.length, 5)
  // Pages are read in the order of their ids, however large the pool is.
  for (const sql of sorted) assert.match(sql, /id in \(select value from json_each/)
  assert.ok(plans.some((step) => step.includes('message_of_key (key_id=? AND id>? AND id<?)')))
  assert.ok(plans.some((step) => step.includes('session_of_key (key_id=? AND expires_at>?)')))
  const ended = 'session_of_key (key_id=? AND expires_at>? AND expires_at<?)'
  assert.ok(plans.some((step) => step.includes(ended)))
})
