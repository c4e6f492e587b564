import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { openRedis, type TestRedis } from '../../test/support/redis.ts'
import { waitUntil } from '../../test/support/wait-until.ts'
import { connectRedis, type Redis } from './connect.ts'
import { recordingLog } from './testing/log.ts'

const PASSWORD = 'open, sesame/@:'

const opened: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

async function serverWith(options: Parameters<typeof openRedis>[0] = {}): Promise<TestRedis> {
  const server = await openRedis(options)
  opened.push(server)
  return server
}

async function connected(url: string) {
  const { log, lines } = recordingLog()
  const redis = await connectRedis({ url, log })
  opened.push(redis)
  return { redis, lines }
}

const ping = (redis: Redis) => redis.send('any', ['PING'])

/** Counts who knocks on a port and turns them away. */
async function doorAt(port: number) {
  let knocks = 0
  const door = createServer((socket) => {
    knocks += 1
    socket.destroy()
  })
  door.listen(port, '127.0.0.1')
  await once(door, 'listening')
  return { knocks: () => knocks, close: () => once(door.close(), 'close') }
}

test('an outage is told once and its end once, however often it is tried', async () => {
  const server = await serverWith({ password: PASSWORD })
  const { redis, lines } = await connected(server.url)
  assert.equal(await ping(redis), 'PONG')
  await server.stop()
  const door = await doorAt(server.port)
  await waitUntil(() => door.knocks() > 3)
  await assert.rejects(ping(redis), /Redis is away/)
  await door.close()
  await server.start()
  await waitUntil(() => lines.length > 1)
  assert.equal(await ping(redis), 'PONG')
  const at = { redis: `127.0.0.1:${server.port}` }
  assert.match(
    lines[0] ?? '',
    /^warn Redis is away: .*"reason":"(Socket closed unexpectedly|read ECONNRESET)"/,
  )
  assert.deepEqual(lines.slice(1), [`info Redis is back ${JSON.stringify(at)}`])
})

test('a server that repeats what it does not understand puts no password into the log', async () => {
  const door = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      const words = bytes
        .toString()
        .split('\r\n')
        .filter((line) => /^[^*$]/.test(line))
      socket.write(`-ERR unknown command, with args beginning with: ${words.join(' ')}\r\n`)
    })
  })
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  opened.push({ close: () => door.close() })
  const { port } = door.address() as AddressInfo
  const url = `redis://joe:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`
  const { lines } = await connected(url)
  assert.match(lines[0] ?? '', /"reason":"ERR unknown command, .* AUTH joe …"/)
  assert.doesNotMatch(lines.join(), /sesame/)
})

test('a wrong password is told, the password is not', async () => {
  const server = await serverWith({ password: PASSWORD })
  const { redis, lines } = await connected(server.url.replace('sesame', 'barley'))
  await assert.rejects(ping(redis), /Redis is away/)
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /WRONGPASS/)
  assert.doesNotMatch(lines.join(), /barley|sesame/)
})

test('nothing at the address: it comes back at once, and is away', async () => {
  const server = await serverWith()
  await server.stop()
  const { redis, lines } = await connected(server.url)
  await assert.rejects(ping(redis), /Redis is away/)
  assert.match(lines.join(), /^warn .*ECONNREFUSED/)
  await server.start()
  await waitUntil(() => ping(redis).catch(() => false))
})

test('a server that takes the connection and says nothing is away', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  opened.push(silent)
  const { port } = silent.address() as { port: number }
  const { redis, lines } = await connected(`redis://127.0.0.1:${port}`)
  await assert.rejects(ping(redis), /Redis is away/)
  assert.match(lines.join(), /it does not answer/)
})

test('a master that becomes a replica is left for whoever has its name then', async () => {
  const server = await serverWith()
  const { redis, lines } = await connected(server.url)
  await server.run('REPLICAOF', '127.0.0.1', '1')
  await assert.rejects(redis.send('any', ['SET', 'any', '1']), /READONLY/)
  await server.run('REPLICAOF', 'NO', 'ONE')
  await waitUntil(() => redis.send('any', ['SET', 'any', '1']).catch(() => false))
  assert.match(lines[0] ?? '', /^warn Redis is away: .*READONLY/)
})

test('a refusal is told, and not at each request', async () => {
  const server = await serverWith()
  const { redis, lines } = await connected(server.url)
  await server.run('ACL', 'SETUSER', 'default', '-get')
  for (let times = 0; times < 10; times += 1) {
    await assert.rejects(redis.send('any', ['GET', 'any']), /NOPERM/)
  }
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /^warn Redis refuses what it is asked .*NOPERM/)
})

test('a list of servers that are no Cluster is told, and the first one is used', async () => {
  const [first, second] = [await serverWith(), await serverWith()]
  const { redis, lines } = await connected(`${first.url},${second.url}`)
  assert.match(lines.join(), /cluster support disabled/)
  await redis.send('any', ['SET', 'any', '1'])
  assert.equal(await first.run('GET', 'any'), '1')
})

test('rediss:// is encrypted, and only a server that is known is spoken to', async () => {
  const server = await serverWith({ tls: true, password: PASSWORD })
  const stranger = await connected(server.url)
  await assert.rejects(ping(stranger.redis), /Redis is away/)
  expect(stranger.lines.join()).toMatch(/self-signed certificate/)
  const usual = getCACertificates()
  setDefaultCACertificates([...usual, server.certificate()])
  const { redis } = await connected(server.url)
  setDefaultCACertificates(usual)
  assert.equal(await ping(redis), 'PONG')
})

test('a Redis Cluster is found by any one of its servers', async () => {
  const server = await serverWith({ cluster: true })
  await server.run('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await waitUntil(async () =>
    String(await server.run('CLUSTER', 'INFO')).includes('cluster_state:ok'),
  )
  const { redis } = await connected(`redis://127.0.0.1:1,${server.url}`)
  assert.equal(await redis.send('any', ['SET', 'any', '1']), 'OK')
})
