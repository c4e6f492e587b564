import { openLedgerHmac } from '../src/mail/rules/ledger.ts'
import { openPostgresLedger } from '../src/store/postgres/ledger.ts'
import { openSqliteLedger } from '../src/store/sqlite/ledger.ts'
import { openMigrated } from '../src/store/sqlite/migrate.ts'
import { openPostgres } from '../test/support/postgres.ts'
import { DISK, tempFolder } from '../test/support/stores.ts'
import { quick } from './tools/options.ts'
import { figure, reportHeader, reportTable, say } from './tools/report.ts'

// How large does the ledger of addresses get, and how long does it take to convert one of version 0.3?

const ENTRIES = quick ? 20_000 : 1_000_000
const HASH = `rtrim(translate(encode(sha256(n::text::bytea), 'base64'), '+/', '-_'), '=')`
const hmac = openLedgerHmac(new Uint8Array(32))
const lifetimes = { sessionSeconds: 1, anonymousMaxSeconds: 1, maxSessionSeconds: 1 }
const start = { now: new Date(), lifetimes, cooldownMs: 0 }

reportHeader('Ledger of addresses', 'ledger')
say(`- ${figure(ENTRIES)} entries, added in no order`)
reportTable(
  ['engine', 'bytes per entry', 'conversion, s'],
  [
    ['SQLite', ...sqlite().map(figure)],
    ['PostgreSQL', ...(await postgres()).map(figure)],
  ],
)

function sqlite(): [number, number] {
  const folder = tempFolder(DISK)
  const db = openMigrated(folder.path, 'mail')
  const insert = db.prepare('insert into address_ledger values (?)')
  const pages = () =>
    ['page_count', 'freelist_count'].map((name) => Number(db.pragma(name, { simple: true })))
  const used = () => pages().reduce((all, free) => all - free) * 4_096
  const addAll = db.transaction((entryOf: (number: number) => string) => {
    for (let number = 0; number < ENTRIES; number += 1) insert.run(entryOf(number))
  })
  const before = used()
  addAll((number) => hmac.ofHash(`${number}`))
  const bytes = used() - before
  db.exec('delete from address_ledger')
  addAll((number) => hmac.ofHash(`${number}`) + hmac.ofHash(`-${number}`).slice(1))
  db.close()
  const ledger = openSqliteLedger(folder.path)
  ledger.beginLedger({ ...start, isNew: true })
  const from = performance.now()
  ledger.prepareLedger({ ...start, hmac, poolOff: false })
  const ms = performance.now() - from
  ledger.close()
  folder.remove()
  return [bytes / ENTRIES, ms / 1_000]
}

async function postgres(): Promise<[number, number]> {
  const server = await openPostgres()
  const database = await server.database()
  const ledger = await openPostgresLedger(server.urlOf(database))
  const run = (sql: string) => server.run(sql, database)
  const add = (entry: string) =>
    run(`insert into mail.address_ledger select ${entry} from generate_series(1, ${ENTRIES}) as n`)
  await add(`left(${HASH}, 22)`)
  const [row] = (await run(`select pg_total_relation_size('mail.address_ledger') as bytes`)) as [
    { bytes: string },
  ]
  await run('truncate mail.address_ledger')
  await add(HASH)
  await ledger.beginLedger({ ...start, isNew: true })
  const from = performance.now()
  await ledger.prepareLedger({ ...start, hmac, poolOff: false })
  const ms = performance.now() - from
  await ledger.close()
  await server.close()
  return [Number(row.bytes) / ENTRIES, ms / 1_000]
}
