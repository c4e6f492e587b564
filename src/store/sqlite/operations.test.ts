import assert from 'node:assert/strict'
import Database from 'better-sqlite3'
import { test } from 'vitest'
import { query, type Value } from '../../base/operation.ts'
import { operationRunner } from './operations.ts'

function rowsOf(text: string, values: Value[]): unknown[] {
  const db = new Database(':memory:')
  db.exec(`create table pair (name text, number integer) strict;
    insert into pair values ('a', 1), ('b', 2), ('c', null)`)
  return operationRunner(db)(query(text, values))
}

for (const [name, text, values, rows] of [
  [
    'numbered parameters in any order',
    'select $2 as x, $1 as y, $2 as z',
    [1, 'b'],
    [{ x: 'b', y: 1, z: 'b' }],
  ],
  [
    'a table of a schema, and a name that ends like one',
    'select gmail.number from shop.pair as gmail where gmail.name = $1',
    ['b'],
    [{ number: 2 }],
  ],
  [
    'a row lock',
    'select name from mail.pair where number = $1 for no key update',
    [1],
    [{ name: 'a' }],
  ],
  [
    'a lock of rows that nobody else has locked',
    `delete from pair where name in (
       select name from pair where number > $1 limit 5 for update skip locked) returning name`,
    [1],
    [{ name: 'b' }],
  ],
  [
    'a comparison of rows that contain null',
    'select name from pair where (name, number) is distinct from ($1, $2)',
    ['c', null],
    [{ name: 'a' }, { name: 'b' }],
  ],
  [
    'an array',
    'select number from pair where name = any($1::text[])',
    [['b', 'a']],
    [{ number: 1 }, { number: 2 }],
  ],
  [
    'an array as a table',
    'select identity from unnest($1::text[]) as identity',
    [['b', 'a']],
    [{ identity: 'b' }, { identity: 'a' }],
  ],
  ['an empty array', 'select number from pair where number = any($1::bigint[])', [[]], []],
  ['a boolean', 'select name from pair where number = $1', [true], [{ name: 'a' }]],
  [
    'undefined as null',
    'select name from pair where number is not distinct from $1',
    [undefined],
    [{ name: 'c' }],
  ],
  [
    'a write that returns rows',
    'update pair set number = $1 where name = $2 returning number',
    [3, 'c'],
    [{ number: 3 }],
  ],
  ['a write that returns none', 'delete from pair where name = $1', ['a'], []],
] satisfies [string, string, Value[], unknown[]][]) {
  test(`SQLite runs ${name}`, () => assert.deepEqual(rowsOf(text, values), rows))
}

test('SQLite refuses a statement with too few values, as PostgreSQL does', () => {
  assert.throws(() => rowsOf('select $2 as x, $1 as y', [1]), /no value for a parameter/)
})
