import assert from 'node:assert/strict'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'vitest'
import { tempFolder } from '../../../test/support/stores.ts'
import { Problem } from '../../base/problem.ts'
import type { MailboxId } from '../../mail/rules/session.ts'
import { type Db, openReadOnly, openWritable } from './files.ts'
import { groupCommit, type Touch } from './group-commit.ts'

const BOX = 7 as MailboxId

let folder: ReturnType<typeof tempFolder>
let db: Db
beforeEach(() => {
  folder = tempFolder()
  db = openWritable(join(folder.path, 'scratch.db'), 400_000)
  db.exec('create table line (text text primary key, filler blob)')
})
afterEach(() => {
  db.close()
  folder.remove()
})

const lines = () => {
  const reader = openReadOnly(join(folder.path, 'scratch.db'))
  const found = reader.prepare('select text from line order by rowid').pluck().all()
  reader.close()
  return found
}
const writes = (touch: Touch) => ({
  add(text: string) {
    db.prepare('insert into line (text) values (?)').run(text)
    touch(BOX)
    return text.length
  },
  addTwice(text: string) {
    db.prepare('insert into line (text) values (?)').run(`${text} once`)
    throw new Error(`no second ${text}`)
  },
  addLarge(text: string) {
    db.prepare('insert into line values (?, randomblob(1000000))').run(text)
  },
})
const request = (name: string, text: string) => ({ name, value: [text] })

test('a failed write is rolled back alone; the rest of the group is committed', () => {
  const commit = groupCommit(db, writes, () => {})
  const outcomes = commit([
    request('add', 'first'),
    request('addTwice', 'second'),
    request('add', 'first'),
    request('unheard-of', ''),
    request('add', 'third'),
  ])
  assert.deepEqual(
    outcomes.map((outcome) => 'result' in outcome && outcome.result),
    [5, false, false, false, 5],
  )
  assert.deepEqual(lines(), ['first', 'third'])
})

test('versions change after the commit, once for each mailbox', () => {
  const touched: unknown[] = []
  const commit = groupCommit(db, writes, (mailbox) => touched.push([mailbox, lines().length]))
  commit([request('add', 'a'), request('add', 'b')])
  assert.deepEqual(touched, [[BOX, 2]])
})

test('a write without disk space is refused as overloaded, and the next small one succeeds', () => {
  const commit = groupCommit(db, writes, () => {})
  const [large] = commit([request('addLarge', 'large')])
  assert.ok(large && 'error' in large && large.error instanceof Problem)
  assert.equal(large.error.code, 'overloaded')
  assert.deepEqual(commit([request('add', 'small')]), [{ result: 5 }])
  assert.deepEqual(lines(), ['small'])
})

test('if the group cannot be committed, nothing is stored and every write fails', () => {
  const touched: MailboxId[] = []
  const commit = groupCommit(db, writes, (mailbox) => touched.push(mailbox))
  db.exec('create table parent (id primary key)')
  db.exec('create table child (id references parent deferrable initially deferred)')
  const orphan = { orphan: () => db.prepare('insert into child values (1)').run() }
  const broken = groupCommit(
    db,
    (touch) => ({ ...writes(touch), ...orphan }),
    (mailbox) => touched.push(mailbox),
  )
  const outcomes = broken([request('add', 'a'), request('orphan', '')])
  assert.ok(outcomes.length === 2 && outcomes.every((outcome) => 'error' in outcome))
  assert.deepEqual([lines(), touched], [[], []])
  assert.deepEqual(commit([request('add', 'b')]), [{ result: 1 }])
})

test('a group that is committed is not run again, whatever happens after the commit', () => {
  const commit = groupCommit(db, writes, () => {
    throw new Error('after the commit')
  })
  assert.throws(() => commit([request('add', 'a')]), /after the commit/)
  assert.deepEqual(lines(), ['a'])
})

test('a group that cannot start its transaction fails at once', () => {
  const commit = groupCommit(db, writes, () => {})
  db.exec('begin')
  const [outcome] = commit([request('add', 'a')])
  assert.match(String(outcome && 'error' in outcome && outcome.error), /within a transaction/)
})
