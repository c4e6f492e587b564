import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { parseResponse, problemFault, request, sendRaw } from '../../../test/support/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/support/http-server.ts'

let door: TestServer
beforeAll(async () => {
  door = await openTestServer({ requestTimeoutMs: 600 })
})
afterAll(() => door.stop())

const GET = 'GET /api/domains HTTP/1.1\r\nHost: x\r\n'
const POST = 'POST /api/create-session HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
const OPEN_POST = 'POST /api/create-session HTTP/1.1\r\nHost: x\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n'

describe('what is no HTTP is answered in our shape, and nobody else notices', () => {
  for (const [name, bytes, expected] of [
    ['no Host', 'GET /api/domains HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['a word that is no method', 'FETCH /api/domains HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n', 400],
    ['SMTP', 'EHLO sender.test\r\n', 400],
    ['a TLS hello', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03', 400],
    ['HTTP/2 by prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['a version that is none', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n', 400],
    ['a line feed alone', 'GET /api/domains HTTP/1.1\nHost: x\n\n', 400],
    ['a folded header', `${GET}X-A: 1\r\n 2\r\n\r\n`, 400],
    ['a header without a colon', `${GET}nonsense\r\n\r\n`, 400],
    ['a space before the colon', `${GET}X-A : 1\r\n\r\n`, 400],
    ['NUL in a header', `${GET}X-A: a\0b\r\n\r\n`, 400],
    ['a length and chunks', `${POST}Content-Length: 3\r\n${CHUNKED}0\r\n\r\n`, 400],
    ['two lengths', `${POST}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`, 400],
    ['a negative length', `${POST}Content-Length: -1\r\n\r\n`, 400],
    ['a length in hexadecimal', `${POST}Content-Length: 0x3\r\n\r\nabc`, 400],
    ['a coding like chunked', `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 400],
    ['a chunk that is no number', `${POST}${CHUNKED}zz\r\n\r\n`, 400],
    ['a chunk longer than all numbers', `${POST}${CHUNKED}${'f'.repeat(20)}\r\n\r\n`, 400],
    ['chunk extensions without end', `${POST}${CHUNKED}1;${'a'.repeat(20_000)}`, 413],
    ['a header of 100 KB', `${GET}X-A: ${'a'.repeat(100_000)}\r\n\r\n`, 431],
    ['ten thousand headers', `${GET}${'A: 1\r\n'.repeat(10_000)}\r\n`, 431],
    ['an address of a megabyte', `GET /${'a'.repeat(1_000_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ] as const) {
    test(`${name}: ${expected}`, async () => {
      const asked = parseResponse(await sendRaw(door.port, Buffer.from(bytes, 'latin1')))
      assert.equal(asked.status, expected)
      assert.equal(problemFault(asked), undefined)
      assert.equal(asked.headers.get('x-content-type-options'), 'nosniff')
      assert.equal((await request(`${door.url}/livez`)).status, 200)
    })
  }
})

describe('unusual HTTP is served', () => {
  for (const [name, bytes, expected] of [
    ['HTTP/1.0 without a Host', 'GET /api/domains HTTP/1.0\r\n\r\n', 200],
    [
      'an expectation nobody knows',
      `${GET}Expect: the-unexpected\r\nConnection: close\r\n\r\n`,
      200,
    ],
    ['chunks of one byte', `${POST}${CHUNKED}1\r\n{\r\n1\r\n}\r\n0\r\n\r\n`, 200],
    ['no chunk at all', `${POST}${CHUNKED}0\r\n\r\n`, 200],
    ['a trailer', `${POST}${CHUNKED}2\r\n{}\r\n0\r\nX-Trailer: 1\r\n\r\n`, 200],
    ['an upgrade we do not offer', `${GET}Connection: upgrade, close\r\nUpgrade: h2c\r\n\r\n`, 200],
    ['an asterisk', 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 404],
    [
      'a whole address',
      'GET http://x/api/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      404,
    ],
    ['half an escape', 'GET /api/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 404],
    [
      'a way upwards',
      'GET /api/../api/domains HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      404,
    ],
    [
      'an escaped way upwards',
      'GET /api/%2e%2e/livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      404,
    ],
    [
      'TRACE',
      'TRACE /api/domains HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Secret: 1\r\n\r\n',
      405,
    ],
    ['PROPFIND', 'PROPFIND /api/domains HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 405],
  ] as const) {
    test(`${name}: ${expected}`, async () => {
      const asked = parseResponse(await sendRaw(door.port, bytes))
      assert.equal(asked.status, expected)
      if (expected !== 200) assert.equal(problemFault(asked), undefined)
      assert.doesNotMatch(asked.text, /X-Secret/)
    })
  }

  test('requests in one packet are answered in order', async () => {
    const one = `${GET}\r\n`
    const last = 'GET /api/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const heard = await sendRaw(door.port, one + one + last)
    const statuses = [...heard.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, code]) => code)
    assert.deepEqual(statuses, ['200', '200', '404'])
  })

  test('nonsense after a request does not spoil its answer, which is the last', async () => {
    const heard = await sendRaw(door.port, `${GET}\r\nnonsense\r\n\r\n`)
    const asked = parseResponse(heard)
    assert.deepEqual([asked.status, asked.body['status']], [200, 'success'])
    assert.equal(asked.headers.get('connection'), 'close')
    assert.equal(heard.split('HTTP/1.1 ').length, 2)
  })
})

describe('408: a request must arrive whole within its time', () => {
  for (const [name, bytes] of [
    ['nothing but a connection', ''],
    ['half a request line', 'GET /api/dom'],
    ['half a header', `${GET}X-A: `],
    ['half a body', `${POST}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{`],
    ['half a chunk', `${POST}${CHUNKED}5\r\nab`],
  ] as const) {
    test(name, async () => {
      const asked = parseResponse(await sendRaw(door.port, bytes))
      assert.equal(asked.status, 408)
      assert.equal(asked.body['code'], 'timeout')
      assert.equal(problemFault(asked), undefined)
    })
  }

  test('a byte now and then does not help', async () => {
    const heard = await new Promise<string>((resolve) => {
      let all = ''
      const socket = connect(door.port, '127.0.0.1')
      const drip = setInterval(() => socket.write('X'), 50)
      socket.write(`${GET}X-A: `)
      socket.on('data', (chunk) => {
        all += chunk
      })
      socket.on('error', () => {})
      socket.on('close', () => {
        clearInterval(drip)
        resolve(all)
      })
    })
    assert.equal(parseResponse(heard).status, 408)
  })
})

describe('a request that is refused before it is whole', () => {
  const long = 99_999_999
  for (const [name, bytes, expected] of [
    ['a length that is too much', `${OPEN_POST}Content-Length: ${long}\r\n\r\nx`, 413],
    ['chunks that are too much', `${OPEN_POST}${CHUNKED}50000\r\n${'x'.repeat(0x4ffff)}`, 413],
    ['a path that is none', `GET /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx`, 404],
  ] as const) {
    test(`${name}: ${expected} and no second answer`, async () => {
      const heard = await sendRaw(door.port, bytes)
      const asked = parseResponse(heard)
      assert.equal(asked.status, expected)
      assert.equal(problemFault(asked), undefined)
      assert.equal(asked.headers.get('connection'), 'close')
      assert.equal(heard.split('HTTP/1.1 ').length, 2)
    })
  }

  test('who sends all of it before he listens hears the answer', async () => {
    const body = Buffer.alloc(20_000_000, 'x')
    const head = `${OPEN_POST}Content-Length: ${body.length}\r\n\r\n`
    const heard = await sendRaw(door.port, Buffer.concat([Buffer.from(head), body]))
    assert.equal(parseResponse(heard).status, 413)
  })

  test('what is refused when it is whole keeps its connection', async () => {
    const refused = 'POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc'
    const heard = await sendRaw(door.port, `${refused}${GET}Connection: close\r\n\r\n`)
    const statuses = [...heard.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, code]) => code)
    assert.deepEqual(statuses, ['404', '200'])
  })
})
