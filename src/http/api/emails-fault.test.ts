import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, onTestFinished, test } from 'vitest'
import { problemFault, request } from '../../../test/support/http-client.ts'
import { openTestServer } from '../../../test/support/http-server.ts'
import { keyRing, type TestKey } from '../../../test/support/keys.ts'
import { EMPTY_MAIL } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'

const broken = () => Promise.reject(new Error('broken'))
const textMail = (text: string) => async () => ({ ...EMPTY_MAIL, text })

/** A door of which something is broken, with a key and so many mails for it. */
async function openFaulty(options: Parameters<typeof openTestServer>[0], mails = 1) {
  const door = await openTestServer(options)
  onTestFinished(() => door.stop())
  const key = await keyRing(door.shop, () => new Date()).issue({ requests: 100, perDay: 100 })
  const { headers } = key
  const { body } = await request(`${door.url}/api/create-session`, { method: 'POST', headers })
  for (let sent = 0; sent < mails; sent += 1) await door.mail(String(body['email']))
  return { door, key, charged: () => charged(door, key) }
}

/** By each of the three counts: in all, today, by day. */
async function charged({ shop }: Awaited<ReturnType<typeof openTestServer>>, { id }: TestKey) {
  const { used, usedToday } = (await shop.readKey(id, new Date())) ?? {}
  const days = await shop.readUsage(id, 0)
  return [used, usedToday, days.reduce((sum, { count }) => sum + count, 0)]
}

describe('500', () => {
  for (const [name, options] of [
    ['a mail cannot be parsed', { parse: broken }],
    ['the list cannot be read', { storeOverrides: { listKeyMail: broken } }],
    ['the mark cannot be read', { storeOverrides: { keyMailVersion: broken } }],
  ] as const) {
    test(`${name}: nothing is told of it, and nothing is charged`, async () => {
      const { door, key, charged } = await openFaulty(options)
      const asked = await request(`${door.url}/emails`, { headers: key.headers })
      assert.deepEqual([asked.status, asked.body['code']], [500, 'internal'])
      assert.equal(problemFault(asked), undefined)
      assert.doesNotMatch(asked.text, /broken/)
      assert.equal(asked.headers.get('x-ratelimit-remaining'), '100')
      assert.deepEqual(await charged(), [0, 0, 0])
      assert.doesNotMatch(JSON.stringify(door.logged), new RegExp(key.secret))
    })
  }

  test('the shop cannot be written: nothing is told but that, and no mail is shown', async () => {
    const { door, key } = await openFaulty({
      shopOverrides: { spendRequest: broken },
      parse: textMail('canary'),
    })
    const asked = await request(`${door.url}/emails`, { headers: key.headers })
    assert.equal(asked.status, 500)
    assert.doesNotMatch(asked.text, /canary|broken/)
  })
})

describe('503', () => {
  test('too many mails wait to be parsed: nothing is charged', async () => {
    const parse = () => Promise.reject(new Problem('overloaded', 'Too many.', 1))
    const { door, key, charged } = await openFaulty({ parse })
    const asked = await request(`${door.url}/emails`, { headers: key.headers })
    assert.deepEqual([asked.status, asked.body['code']], [503, 'overloaded'])
    assert.equal(problemFault(asked), undefined)
    assert.deepEqual(await charged(), [0, 0, 0])
  })

  test('a key that takes none of what it asked for: nothing more is charged', async () => {
    // A page of 8 MB. Eight of them are what may be under way for one key; the kernel's buffers may hold some more.
    const parse = textMail('x'.repeat(256 * 1024))
    const { door, key, charged } = await openFaulty({ parse }, 31)
    const request = `GET /emails HTTP/1.1\r\nHost: x\r\nAPIKey: ${key.secret}\r\n\r\n`
    const sockets: Socket[] = []
    let head = ''
    for (; !head.startsWith('HTTP/1.1 503') && sockets.length < 40; ) {
      const socket = connect(door.port, '127.0.0.1')
      sockets.push(socket)
      socket.write(request)
      await once(socket, 'readable')
      head = String(socket.read(12)) + String(socket.read(500))
    }
    for (const socket of sockets) socket.destroy()
    assert.match(head, /^HTTP\/1\.1 503 /)
    const passed = sockets.length - 1
    assert.ok(passed >= 8, `${passed} passed`)
    assert.deepEqual(await charged(), [passed, passed, passed])
    assert.match(head, new RegExp(`^x-ratelimit-remaining: ${100 - passed}\\r$`, 'im'))
  })
})

test('who hangs up while his mail is read is not charged', async () => {
  const begun = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const given = Promise.withResolvers<void>()
  const parse = async () => {
    begun.resolve()
    await gone.promise
    return await textMail('late')()
  }
  const { door, key, charged } = await openFaulty({ parse })
  const { returnRequest } = door.shop
  door.shop.returnRequest = async (...what) => {
    await returnRequest(...what)
    given.resolve()
  }
  const before = openSockets()
  const socket = connect(door.port, '127.0.0.1')
  socket.write(`GET /emails HTTP/1.1\r\nHost: x\r\nAPIKey: ${key.secret}\r\n\r\n`)
  await begun.promise
  assert.deepEqual(await charged(), [1, 1, 1])
  socket.destroy()
  // Both ends are in this process: the door has heard of it when its own is gone.
  while (openSockets() > before) await new Promise(setImmediate)
  gone.resolve()
  await given.promise
  assert.deepEqual(await charged(), [0, 0, 0])
})

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
}
