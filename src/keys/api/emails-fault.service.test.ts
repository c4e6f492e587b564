import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { problemFault, request } from '../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../test/kit/http/http-server.ts'
import { keyRing, type TestKey } from '../../../test/kit/shop/keys.ts'
import { Problem } from '../../base/problem.ts'
import { EMPTY_MAIL } from '../../shared/mail.ts'

const broken = () => Promise.reject(new Error('broken'))
const textMail = (text: string) => async () => ({ ...EMPTY_MAIL, text })

/** A server with this fault, a key, and this many mails for the key. */
async function openFaultyServer(
  options: Parameters<typeof openTestServer>[0],
  mails = 1,
  raw = 'Subject: hi\r\n\r\nhello\r\n',
) {
  const server = await openTestServer(options)
  onTestFinished(() => server.stop())
  const key = await keyRing(server.shop, () => new Date()).issue({ requests: 100, perDay: 100 })
  const { headers } = key
  const { body } = await request(`${server.url}/api/create-session`, { method: 'POST', headers })
  for (let sent = 0; sent < mails; sent += 1) await server.mail(String(body['email']), raw)
  return { server, key, charged: () => charged(server, key) }
}

/** Charged requests by each counter: total, today, sum over days. */
async function charged({ shop }: Awaited<ReturnType<typeof openTestServer>>, { id }: TestKey) {
  const { used, usedToday } = (await shop.readKey(id, new Date())) ?? {}
  const days = await shop.readUsage(id, 0)
  return [used, usedToday, days.reduce((sum, { count }) => sum + count, 0)]
}

describe('500', () => {
  for (const [name, options] of [
    ['a mail cannot be parsed', { parse: broken }],
    ['the list cannot be read', { storeOverrides: { listKeyMail: broken } }],
    ['the version cannot be read', { storeOverrides: { keyMailVersion: broken } }],
  ] as const) {
    test(`${name}: no detail is revealed, and nothing is charged`, async () => {
      const { server, key, charged } = await openFaultyServer(options)
      const response = await request(`${server.url}/emails`, { headers: key.headers })
      expect([response.status, response.body['code']]).toStrictEqual([500, 'internal'])
      expect(problemFault(response)).toBeUndefined()
      expect(response.text).not.toMatch(/broken/)
      expect(response.headers.get('x-ratelimit-remaining')).toBe('100')
      expect(await charged()).toStrictEqual([0, 0, 0])
      expect(JSON.stringify(server.logged)).not.toMatch(new RegExp(key.secret))
    })
  }

  test('a request that cannot be charged returns no mail and no detail', async () => {
    const { server, key } = await openFaultyServer({
      shopOverrides: { chargeRequest: broken },
      parse: textMail('canary'),
    })
    const response = await request(`${server.url}/emails`, { headers: key.headers })
    expect(response.status).toBe(500)
    expect(response.text).not.toMatch(/canary|broken/)
  })
})

describe('503', () => {
  test('a request is not charged if the parser is overloaded', async () => {
    const parse = () => Promise.reject(new Problem('overloaded', 'Too many.', 1))
    const { server, key, charged } = await openFaultyServer({ parse })
    const response = await request(`${server.url}/emails`, { headers: key.headers })
    expect([response.status, response.body['code']]).toStrictEqual([503, 'overloaded'])
    expect(problemFault(response)).toBeUndefined()
    expect(await charged()).toStrictEqual([0, 0, 0])
  })

  test('a key that does not read its responses is refused, and the refusal costs nothing', async () => {
    // Each page is 8 MB. Of four threads, each lets a key have two in flight; kernel buffers may hold a few more.
    const text = 'x'.repeat(255 * 1024)
    const options = { env: { MAYFLY_HTTP_THREADS: '4' }, parse: textMail(text) }
    const { server, key, charged } = await openFaultyServer(options, 31, `\r\n${text}`)
    const { readParsedJson } = server.store
    let reads = 0
    server.store.readParsedJson = (rawId) => {
      reads += 1
      return readParsedJson(rawId)
    }
    const request = `GET /emails HTTP/1.1\r\nHost: x\r\nAPIKey: ${key.secret}\r\n\r\n`
    const sockets: Socket[] = []
    let head = ''
    for (; !head.startsWith('HTTP/1.1 503') && sockets.length < 40; ) {
      const socket = connect(server.port, '127.0.0.1')
      sockets.push(socket)
      reads = 0
      socket.write(request)
      await once(socket, 'readable')
      head = String(socket.read(12)) + String(socket.read(500))
    }
    for (const socket of sockets) socket.destroy()
    expect(head).toMatch(/^HTTP\/1\.1 503 /)
    expect(reads, 'refused before anything is read').toBe(0)
    const passed = sockets.length - 1
    expect(passed, `${passed} passed`).toBeGreaterThanOrEqual(2)
    expect(await charged()).toStrictEqual([passed, passed, passed])
    expect(head).toMatch(new RegExp(`^x-ratelimit-remaining: ${100 - passed}\\r$`, 'im'))
  })
})

test('no record is serialized twice', async () => {
  const parse = textMail('x'.repeat(100_000))
  const { server, key } = await openFaultyServer({ parse }, 10)
  const read = () => request(`${server.url}/emails`, { headers: key.headers })
  await read()
  const stringify = vi.spyOn(JSON, 'stringify')
  onTestFinished(() => stringify.mockRestore())
  const { text } = await read()
  const made = stringify.mock.results.reduce((sum, { value }) => sum + String(value).length, 0)
  expect(text.length).toBeGreaterThan(1_000_000)
  expect(made, `${made} characters for ${text.length}`).toBeLessThan(1.1 * text.length)
})

test('a client that disconnects while its mail is parsed is not charged', async () => {
  const parsing = Promise.withResolvers<void>()
  const disconnected = Promise.withResolvers<void>()
  const returned = Promise.withResolvers<void>()
  const parse = async () => {
    parsing.resolve()
    await disconnected.promise
    return await textMail('late')()
  }
  const { server, key, charged } = await openFaultyServer({ parse })
  const { refundRequest } = server.shop
  server.shop.refundRequest = async (...args) => {
    await refundRequest(...args)
    returned.resolve()
  }
  const before = openSockets()
  const socket = connect(server.port, '127.0.0.1')
  socket.write(`GET /emails HTTP/1.1\r\nHost: x\r\nAPIKey: ${key.secret}\r\n\r\n`)
  await parsing.promise
  expect(await charged()).toStrictEqual([1, 1, 1])
  socket.destroy()
  // Both ends are in this process: the server has noticed once its own socket is closed.
  while (openSockets() > before) await new Promise(setImmediate)
  disconnected.resolve()
  await returned.promise
  expect(await charged()).toStrictEqual([0, 0, 0])
})

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
}
