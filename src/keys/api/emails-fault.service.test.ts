import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, onTestFinished, test, vi } from 'vitest'
import { problemFault, request } from '../../../test/support/http-client.ts'
import { openTestServer } from '../../../test/support/http-server.ts'
import { keyRing, type TestKey } from '../../../test/support/keys.ts'
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
      assert.deepEqual([response.status, response.body['code']], [500, 'internal'])
      assert.equal(problemFault(response), undefined)
      assert.doesNotMatch(response.text, /broken/)
      assert.equal(response.headers.get('x-ratelimit-remaining'), '100')
      assert.deepEqual(await charged(), [0, 0, 0])
      assert.doesNotMatch(JSON.stringify(server.logged), new RegExp(key.secret))
    })
  }

  test('a request that cannot be charged returns no mail and no detail', async () => {
    const { server, key } = await openFaultyServer({
      shopOverrides: { spendRequest: broken },
      parse: textMail('canary'),
    })
    const response = await request(`${server.url}/emails`, { headers: key.headers })
    assert.equal(response.status, 500)
    assert.doesNotMatch(response.text, /canary|broken/)
  })
})

describe('503', () => {
  test('a request is not charged if the parser is overloaded', async () => {
    const parse = () => Promise.reject(new Problem('overloaded', 'Too many.', 1))
    const { server, key, charged } = await openFaultyServer({ parse })
    const response = await request(`${server.url}/emails`, { headers: key.headers })
    assert.deepEqual([response.status, response.body['code']], [503, 'overloaded'])
    assert.equal(problemFault(response), undefined)
    assert.deepEqual(await charged(), [0, 0, 0])
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
    assert.match(head, /^HTTP\/1\.1 503 /)
    assert.equal(reads, 0, 'refused before anything is read')
    const passed = sockets.length - 1
    assert.ok(passed >= 2, `${passed} passed`)
    assert.deepEqual(await charged(), [passed, passed, passed])
    assert.match(head, new RegExp(`^x-ratelimit-remaining: ${100 - passed}\\r$`, 'im'))
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
  assert.ok(text.length > 1_000_000)
  assert.ok(made < 1.1 * text.length, `${made} characters for ${text.length}`)
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
  const { returnRequest } = server.shop
  server.shop.returnRequest = async (...args) => {
    await returnRequest(...args)
    returned.resolve()
  }
  const before = openSockets()
  const socket = connect(server.port, '127.0.0.1')
  socket.write(`GET /emails HTTP/1.1\r\nHost: x\r\nAPIKey: ${key.secret}\r\n\r\n`)
  await parsing.promise
  assert.deepEqual(await charged(), [1, 1, 1])
  socket.destroy()
  // Both ends are in this process: the server has noticed once its own socket is closed.
  while (openSockets() > before) await new Promise(setImmediate)
  disconnected.resolve()
  await returned.promise
  assert.deepEqual(await charged(), [0, 0, 0])
})

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
}
