import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { Problem } from '../../base/problem.ts'
import { type Db, openReadOnly, openWritable } from './files.ts'
import { groupCommit } from './group-commit.ts'

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
const writes = {
  add(text: string) {
    db.prepare('insert into line (text) values (?)').run(text)
    return text.length
  },
  addTwice(text: string) {
    db.prepare('insert into line (text) values (?)').run(`${text} once`)
    throw new Error(`no second ${text}`)
  },
  addLarge(text: string) {
    db.prepare('insert into line values (?, randomblob(1000000))').run(text)
  },
}
const request = (name: string, text: string) => ({ name, value: [text] })

test('a failed write is rolled back alone; the rest of the group is committed', () => {
  const commit = groupCommit(db, writes)
  const outcomes = commit([
    request('add', 'first'),
    request('addTwice', 'second'),
    request('add', 'first'),
    request('unheard-of', ''),
    request('add', 'third'),
  ])
  expect(outcomes.map((outcome) => 'result' in outcome && outcome.result)).toStrictEqual([
    5,
    false,
    false,
    false,
    5,
  ])
  expect(lines()).toStrictEqual(['first', 'third'])
})

test('committed is called once, when others see the group', () => {
  const seen: unknown[] = []
  const commit = groupCommit(db, writes, { committed: () => seen.push(lines()) })
  commit([request('add', 'a'), request('add', 'b')])
  expect(seen).toStrictEqual([['a', 'b']])
})

test('a write without disk space is refused as overloaded, and the next small one succeeds', () => {
  const commit = groupCommit(db, writes)
  const [large] = commit([request('addLarge', 'large')])
  expect.assert(large && 'error' in large && large.error instanceof Problem)
  expect(large.error.code).toBe('overloaded')
  expect(commit([request('add', 'small')])).toStrictEqual([{ result: 5 }])
  expect(lines()).toStrictEqual(['small'])
})

test('if the group cannot be committed, nothing is stored and every write fails', () => {
  const commits: unknown[] = []
  db.exec('create table parent (id primary key)')
  db.exec('create table child (id references parent deferrable initially deferred)')
  const orphan = () => db.prepare('insert into child values (1)').run()
  const commit = groupCommit(db, { ...writes, orphan }, { committed: () => commits.push(lines()) })
  const outcomes = commit([request('add', 'a'), request('orphan', '')])
  expect(outcomes.length === 2 && outcomes.every((outcome) => 'error' in outcome)).toBeTruthy()
  expect([lines(), commits]).toStrictEqual([[], []])
  expect(commit([request('add', 'b')])).toStrictEqual([{ result: 1 }])
})

test('a group that is committed is not run again, whatever happens after the commit', () => {
  const commit = groupCommit(db, writes, {
    committed() {
      throw new Error('after the commit')
    },
  })
  expect(() => commit([request('add', 'a')])).toThrow(/after the commit/)
  expect(lines()).toStrictEqual(['a'])
})

test('a group that cannot start its transaction fails at once', () => {
  const commit = groupCommit(db, writes)
  db.exec('begin')
  const [outcome] = commit([request('add', 'a')])
  expect(String(outcome && 'error' in outcome && outcome.error)).toMatch(/within a transaction/)
})
