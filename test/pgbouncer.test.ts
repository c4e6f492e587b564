import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp } from './kit/app/app.ts'
import { checkMail } from './kit/http/api-client.ts'
import { program } from './kit/programs/programs.ts'
import { freePort, startServer } from './kit/programs/server-process.ts'
import { openPostgres, type Postgres } from './kit/store/postgres.ts'
import { tempFolder } from './kit/store/stores.ts'

// A real PgBouncer in transaction mode: settings and prepared statements of a node leak to the next user of a connection.

const POOL_SIZE = 4
const folder = tempFolder()
let postgres: Postgres
let pgbouncer: ChildProcess
let url: string
let database: string

beforeAll(async () => {
  postgres = await openPostgres()
  database = await postgres.database()
  const port = await freePort()
  pgbouncer = await startPgbouncer(new URL(postgres.urlOf(database)), port)
  url = `postgres://mayfly@127.0.0.1:${port}/${database}`
})

afterAll(async () => {
  const exit = once(pgbouncer, 'exit')
  pgbouncer.kill('SIGKILL')
  await exit
  await postgres.close()
  folder.remove()
})

test('two nodes that share four connections lose no mail and see each other’s', async () => {
  const env = { MAYFLY_STORE: `${url}?pgbouncer=true` }
  const [one, two] = [await startApp({ env }), await startApp({ env })]
  const { email, token } = await one.session()
  const sent = Array.from({ length: 60 }, (_, at) => (at % 2 === 0 ? one : two).mail(email))
  expect(new Set(await Promise.all(sent))).toStrictEqual(new Set([250]))
  for (const { url: node } of [one, two]) {
    expect((await checkMail(node, token, '&limit=100')).length).toBe(sent.length)
  }
  const [used] = (await postgres.run(
    `select count(*)::int from pg_stat_activity where datname = '${database}'`,
  )) as { count: number }[]
  expect(used?.count).toBeLessThanOrEqual(POOL_SIZE)
  await one.stop()
  await two.stop()
})

test('a node not configured for PgBouncer refuses to start and gives the reason', async () => {
  await expect(startApp({ env: { MAYFLY_STORE: url } })).rejects.toThrow(/startup parameter/)
})

/** Debian's PgBouncer does not run as root: it runs as the user who may access PostgreSQL's socket. */
async function startPgbouncer(server: URL, port: number): Promise<ChildProcess> {
  const socket = server.searchParams.get('host') ?? ''
  const { uid, gid } = statSync(socket)
  const users = join(folder.path, 'users')
  const file = join(folder.path, 'pgbouncer.ini')
  writeFileSync(users, '"mayfly" ""\n')
  writeFileSync(
    file,
    `[databases]
* = host=${socket}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${POOL_SIZE}
max_client_conn = 200
`,
  )
  for (const path of [folder.path, users, file]) chownSync(path, uid, gid)
  return await startServer({
    command: [program('pgbouncer'), file],
    folder: folder.path,
    user: { uid, gid },
    ready: /process up/,
  })
}
