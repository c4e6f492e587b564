import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
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
  [
    'literals, quoted names and comments as they are',
    `select 'it''s $1 of mail.pair for update, = any($1::text[])' as text, $1 as "mail.x $1", 'a' ilike 'A' -- $1
     as y`,
    ['b'],
    [{ text: "it's $1 of mail.pair for update, = any($1::text[])", 'mail.x $1': 'b', y: 1 }],
  ],
  [
    'text that contains a parameter twice, in an array too',
    'select name, $2 as x from pair where name = any($2::text[]) or number = $1 order by name',
    [2, ['a']],
    [
      { name: 'a', x: '["a"]' },
      { name: 'b', x: '["a"]' },
    ],
  ],
  ['a write that returns none', 'delete from pair where name = $1', ['a'], []],
] satisfies [string, string, Value[], unknown[]][]) {
  test(`SQLite runs ${name}`, () => expect(rowsOf(text, values)).toStrictEqual(rows))
}

test('SQLite refuses a statement with too few values, as PostgreSQL does', () => {
  expect(() => rowsOf('select $2 as x, $1 as y', [1])).toThrow(/no value for a parameter/)
})
