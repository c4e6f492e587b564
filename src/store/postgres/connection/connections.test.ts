import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../../test/support/postgres.ts'
import { openConnections } from './connections.ts'

let postgres: Postgres
let way: Awaited<ReturnType<typeof openWay>>

beforeAll(async () => {
  postgres = await openPostgres({ tls: true })
})
afterAll(() => postgres.close())
beforeEach(async () => {
  way = await openWay()
})
afterEach(() => way.close())

/** A way to the server on which everything can come to a halt. */
async function openWay() {
  const sockets: Socket[] = []
  const between = createServer((near) => {
    const far = connect(postgres.network.port ?? 0, '127.0.0.1')
    for (const one of [near, far]) one.on('error', () => {})
    near.pipe(far).pipe(near)
    sockets.push(near, far)
  }).listen(0, '127.0.0.1')
  await once(between, 'listening')
  const { port } = between.address() as AddressInfo
  return {
    url: `postgres://mayfly@127.0.0.1:${port}/postgres`,
    halt() {
      for (const one of sockets) one.unpipe().pause()
    },
    close() {
      for (const one of sockets) one.destroy()
      between.close()
    },
  }
}

// What a thread or a command does: it asks, closes at a word, and has nothing else to stay for.
const PROGRAM = `
  import { openConnections } from '${new URL('connections.ts', import.meta.url)}'
  const pool = openConnections({ url: process.argv[1] })
  await pool.query('select 1')
  process.stdout.write('asked')
  for await (const _ of process.stdin);
  await pool.close()`

describe('a server that hangs', () => {
  test('keeps nobody from closing, also while it is asked', async () => {
    const pool = openConnections({ url: way.url })
    await pool.query('select 1')
    way.halt()
    let isOver = false
    const asked = pool.query('select 2').catch(() => {
      isOver = true
    })
    // By then it is under way.
    await new Promise(setImmediate)
    await pool.close()
    assert.equal(isOver, false)
    way.close()
    await asked
  })

  test('keeps no program from ending', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, way.url], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const exit = once(child, 'exit')
    await once(child.stdout, 'data')
    way.halt()
    child.stdin.end()
    assert.deepEqual(await exit, [0, null])
  })
})
