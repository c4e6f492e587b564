import { createInterface } from 'node:readline'
import { openWritable } from '../../../src/store/sqlite/files.ts'

// commits.ts FILE: commits a row, and another for each line of standard input; prints how each has ended.

const db = openWritable(process.argv[2] ?? '')
db.exec('create table rows (id integer primary key, bytes blob)')
const add = db.prepare('insert into rows (bytes) values (randomblob(3000))')
const commit = () => {
  try {
    add.run()
    process.stdout.write('committed\n')
  } catch (error) {
    process.stdout.write(`${(error as { code?: string }).code}\n`)
  }
}
commit()
for await (const _ of createInterface(process.stdin)) commit()
