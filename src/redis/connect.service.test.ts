import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { recordingLog } from '../../test/kit/recording-log.ts'
import { openRedis, type TestRedis } from '../../test/kit/redis/redis.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { connectRedis, type Redis } from './connect.ts'

const PASSWORD = 'open, sesame/@:'

const opened: { close(): unknown }[] = []
afterEach(async () => {
  for (const resource of opened.splice(0).reverse()) await resource.close()
})

async function serverWith(options: Parameters<typeof openRedis>[0] = {}): Promise<TestRedis> {
  const server = await openRedis(options)
  opened.push(server)
  return server
}

async function connect(url: string, options: { timeoutMs?: number } = {}) {
  const { log, lines } = recordingLog()
  const redis = await connectRedis({ url, log, ...options })
  opened.push(redis)
  return { redis, lines }
}

const ping = (redis: Redis) => redis.send(['PING'])

/** Counts connections to a port and closes them. */
async function closingServer(port: number) {
  let attempts = 0
  const server = createServer((socket) => {
    attempts += 1
    socket.destroy()
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { attempts: () => attempts, close: () => once(server.close(), 'close') }
}

test('an outage and its end are logged once each, however many attempts fail', async () => {
  const server = await serverWith({ password: PASSWORD })
  const { redis, lines } = await connect(server.url)
  expect(await ping(redis)).toBe('PONG')
  await server.stop()
  const closing = await closingServer(server.port)
  await waitUntil(() => closing.attempts() > 2)
  await expect(ping(redis)).rejects.toThrow(/Redis is unavailable/)
  await closing.close()
  await server.start()
  await waitUntil(() => lines.length > 1)
  expect(await ping(redis)).toBe('PONG')
  const at = { redis: `127.0.0.1:${server.port}` }
  expect(lines[0] ?? '').toMatch(
    /^warn Redis is unavailable: .*"reason":"(Socket closed unexpectedly|read ECONNRESET)"/,
  )
  expect(lines.slice(1)).toStrictEqual([`info Redis is available again ${JSON.stringify(at)}`])
})

test('a server that echoes unknown commands does not leak the password into the log', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      const words = bytes
        .toString()
        .split('\r\n')
        .filter((line) => /^[^*$]/.test(line))
      socket.write(`-ERR unknown command, with args beginning with: ${words.join(' ')}\r\n`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push({ close: () => server.close() })
  const { port } = server.address() as AddressInfo
  const url = `redis://joe:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`
  const { lines } = await connect(url)
  expect(lines[0] ?? '').toMatch(/"reason":"ERR unknown command, .* AUTH joe …"/)
  expect(lines.join()).not.toMatch(/sesame/)
})

test('a wrong password is logged without the password', async () => {
  const server = await serverWith({ password: PASSWORD })
  const { redis, lines } = await connect(server.url.replace('sesame', 'barley'))
  await expect(ping(redis)).rejects.toThrow(/Redis is unavailable/)
  expect(lines.length).toBe(1)
  expect(lines[0] ?? '').toMatch(/WRONGPASS/)
  expect(lines.join()).not.toMatch(/barley|sesame/)
})

test('connecting to a closed port returns at once, and Redis is unavailable', async () => {
  const server = await serverWith()
  await server.stop()
  const { redis, lines } = await connect(server.url)
  await expect(ping(redis)).rejects.toThrow(/Redis is unavailable/)
  expect(lines.join()).toMatch(/^warn .*ECONNREFUSED/)
  await server.start()
  await waitUntil(() => ping(redis).catch(() => false))
})

test('a server that accepts connections and does not respond is unavailable', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  opened.push(silent)
  const { port } = silent.address() as { port: number }
  const { redis, lines } = await connect(`redis://127.0.0.1:${port}`, { timeoutMs: 100 })
  await expect(ping(redis)).rejects.toThrow(/Redis is unavailable/)
  expect(lines.join()).toMatch(/no response/)
})

test('the connection to a master that becomes a replica is reopened', async () => {
  const server = await serverWith()
  const { redis, lines } = await connect(server.url)
  await server.run('REPLICAOF', '127.0.0.1', '1')
  await expect(redis.send(['SET', 'any', '1'])).rejects.toThrow(/READONLY/)
  await server.run('REPLICAOF', 'NO', 'ONE')
  await waitUntil(() => redis.send(['SET', 'any', '1']).catch(() => false))
  expect(lines[0] ?? '').toMatch(/^warn Redis is unavailable: .*READONLY/)
})

test('a subscription that is rejected is requested again, and commands are served meanwhile', async () => {
  const server = await serverWith()
  const { redis, lines } = await connect(server.url)
  await server.run('ACL', 'SETUSER', 'default', '-subscribe')
  const events: string[] = []
  redis.subscribe('any', {
    message: (message) => events.push(message),
    subscribed: () => events.push('subscribed'),
    unsubscribed: () => events.push('unsubscribed'),
  })
  await waitUntil(() => lines.length > 0)
  expect(lines[0] ?? '').toMatch(/^warn Redis rejected a command .*NOPERM/)
  expect(await ping(redis)).toBe('PONG')
  expect(events).toStrictEqual([])
  await server.run('ACL', 'SETUSER', 'default', '+subscribe')
  await waitUntil(() => events.length > 0)
  await server.run('PUBLISH', 'any', 'a message')
  await waitUntil(() => events.length > 1)
  redis.close()
  expect(events).toStrictEqual(['subscribed', 'a message', 'unsubscribed'])
})

test('an error reply is logged, but not for every command', async () => {
  const server = await serverWith()
  const { redis, lines } = await connect(server.url)
  await server.run('ACL', 'SETUSER', 'default', '-get')
  for (let times = 0; times < 10; times += 1) {
    await expect(redis.send(['GET', 'any'])).rejects.toThrow(/NOPERM/)
  }
  expect(lines.length).toBe(1)
  expect(lines[0] ?? '').toMatch(/^warn Redis rejected a command .*NOPERM/)
})

test('rediss:// is encrypted and requires a trusted certificate', async () => {
  const server = await serverWith({ tls: true, password: PASSWORD })
  const untrusted = await connect(server.url)
  await expect(ping(untrusted.redis)).rejects.toThrow(/Redis is unavailable/)
  await expect.poll(() => untrusted.lines.join()).toMatch(/self-signed certificate/)
  const defaultCertificates = getCACertificates()
  setDefaultCACertificates([...defaultCertificates, server.certificate()])
  const { redis } = await connect(server.url)
  setDefaultCACertificates(defaultCertificates)
  expect(await ping(redis)).toBe('PONG')
})
