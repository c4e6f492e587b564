import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../../test/kit/store/postgres.ts'
import { openConnections } from './connections.ts'

let postgres: Postgres
let proxy: Awaited<ReturnType<typeof openProxy>>

beforeAll(async () => {
  postgres = await openPostgres({ tls: true })
})
afterAll(() => postgres.close())
beforeEach(async () => {
  proxy = await openProxy()
})
afterEach(() => proxy.close())

/** A proxy to the server that can stop forwarding. */
async function openProxy() {
  const sockets: Socket[] = []
  const server = createServer((client) => {
    const upstream = connect(postgres.network.port ?? 0, '127.0.0.1')
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.pipe(upstream).pipe(client)
    sockets.push(client, upstream)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `postgres://mayfly@127.0.0.1:${port}/postgres`,
    halt() {
      for (const socket of sockets) socket.unpipe().pause()
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

// Like a thread or a command: sends a query, closes on request, and has nothing else to keep it running.
const PROGRAM = `
  import { openConnections } from '${new URL('connections.ts', import.meta.url)}'
  const pool = openConnections({ url: process.argv[1] })
  await pool.query('select 1')
  process.stdout.write('asked')
  for await (const _ of process.stdin);
  await pool.close()`

describe('a server that hangs', () => {
  test('does not block closing, even while a query is running', async () => {
    const pool = openConnections({ url: proxy.url })
    await pool.query('select 1')
    proxy.halt()
    let isRejected = false
    const query = pool.query('select 2').catch(() => {
      isRejected = true
    })
    // By then the query has been sent.
    await new Promise(setImmediate)
    await pool.close()
    expect(isRejected).toBe(false)
    proxy.close()
    await query
  })

  test('does not keep a process from exiting', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, proxy.url], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const exit = once(child, 'exit')
    await once(child.stdout, 'data')
    proxy.halt()
    child.stdin.end()
    expect(await exit).toStrictEqual([0, null])
  })
})
