import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  parseResponse,
  problemFault,
  request,
  sendRaw,
} from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'

let server: TestServer
/** For requests that never end. Its timeout is longer than a machine stalls, and tests wait for it concurrently. */
let hasty: TestServer
beforeAll(async () => {
  server = await openTestServer({ requestTimeoutMs: 600_000 })
  hasty = await openTestServer({ requestTimeoutMs: 7_500 })
})
afterAll(async () => {
  await server.stop()
  await hasty.stop()
})

const GET = 'GET /api/domains HTTP/1.1\r\nHost: x\r\n'
const POST = 'POST /api/create-session HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
const OPEN_POST = 'POST /api/create-session HTTP/1.1\r\nHost: x\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n'

describe('malformed HTTP gets a problem response, and the server keeps serving', () => {
  for (const [name, bytes, expected] of [
    ['a missing Host', 'GET /api/domains HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['two Host headers', `${GET}Host: x\r\nConnection: close\r\n\r\n`, 400],
    [
      'two Host headers, unknown path',
      'GET /x HTTP/1.1\r\nHost: x\r\nhost: y\r\nConnection: close\r\n\r\n',
      400,
    ],
    ['a missing Host, unknown path', 'GET /x HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['a request line without a version', 'GET /livez\r\n\r\n', 400],
    ['a request line without a version, unknown path', 'GET /x\r\n\r\n', 400],
    ['HTTP/0.9', 'GET /livez HTTP/0.9\r\nHost: x\r\n\r\n', 400],
    ['HTTP/2.0', 'GET /livez HTTP/2.0\r\nHost: x\r\n\r\n', 400],
    ['an unknown method', 'FETCH /api/domains HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n', 400],
    ['SMTP', 'EHLO sender.test\r\n', 400],
    ['a TLS hello', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03', 400],
    ['HTTP/2 by prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['an unknown HTTP version', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n', 400],
    ['bare line feeds', 'GET /api/domains HTTP/1.1\nHost: x\n\n', 400],
    ['a folded header', `${GET}X-A: 1\r\n 2\r\n\r\n`, 400],
    ['a header without a colon', `${GET}nonsense\r\n\r\n`, 400],
    ['a space before the colon', `${GET}X-A : 1\r\n\r\n`, 400],
    ['NUL in a header', `${GET}X-A: a\0b\r\n\r\n`, 400],
    [
      'Content-Length with chunked encoding',
      `${POST}Content-Length: 3\r\n${CHUNKED}0\r\n\r\n`,
      400,
    ],
    [
      'two Content-Length headers',
      `${POST}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`,
      400,
    ],
    ['a negative Content-Length', `${POST}Content-Length: -1\r\n\r\n`, 400],
    ['a hexadecimal Content-Length', `${POST}Content-Length: 0x3\r\n\r\nabc`, 400],
    ['an unknown transfer coding', `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 400],
    ['an invalid chunk size', `${POST}${CHUNKED}zz\r\n\r\n`, 400],
    ['a chunk size that overflows', `${POST}${CHUNKED}${'f'.repeat(20)}\r\n\r\n`, 400],
    ['an endless chunk extension', `${POST}${CHUNKED}1;${'a'.repeat(20_000)}`, 413],
    ['a header of 100 KB', `${GET}X-A: ${'a'.repeat(100_000)}\r\n\r\n`, 431],
    ['ten thousand headers', `${GET}${'A: 1\r\n'.repeat(10_000)}\r\n`, 431],
    ['a URL of 1 MB', `GET /${'a'.repeat(1_000_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ] as const) {
    test(`${name}: ${expected}`, async () => {
      const response = parseResponse(await sendRaw(server.port, Buffer.from(bytes, 'latin1')))
      expect(response.status).toBe(expected)
      expect(problemFault(response)).toBeUndefined()
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect((await request(`${server.url}/livez`)).status).toBe(200)
    })
  }
})

describe('unusual HTTP is served', () => {
  for (const [name, bytes, expected] of [
    ['HTTP/1.0 without a Host', 'GET /api/domains HTTP/1.0\r\n\r\n', 200],
    ['an unknown Expect value', `${GET}Expect: the-unexpected\r\nConnection: close\r\n\r\n`, 200],
    ['chunks of one byte', `${POST}${CHUNKED}1\r\n{\r\n1\r\n}\r\n0\r\n\r\n`, 200],
    ['an empty chunked body', `${POST}${CHUNKED}0\r\n\r\n`, 200],
    ['a trailer', `${POST}${CHUNKED}2\r\n{}\r\n0\r\nX-Trailer: 1\r\n\r\n`, 200],
    ['an unsupported Upgrade', `${GET}Connection: upgrade, close\r\nUpgrade: h2c\r\n\r\n`, 200],
    ['OPTIONS *', 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 404],
    [
      'an absolute URL',
      'GET http://x/api/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      404,
    ],
    [
      'an invalid percent escape',
      'GET /api/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      404,
    ],
    [
      'a parent segment in the path',
      'GET /api/../api/domains HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      404,
    ],
    [
      'an escaped parent segment in the path',
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
      const response = parseResponse(await sendRaw(server.port, bytes))
      expect(response.status).toBe(expected)
      if (expected !== 200) expect(problemFault(response)).toBeUndefined()
      expect(response.text).not.toMatch(/X-Secret/)
    })
  }

  test('pipelined requests are answered in order', async () => {
    const one = `${GET}\r\n`
    const last = 'GET /api/nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const received = await sendRaw(server.port, one + one + last)
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, code]) => code)
    expect(statuses).toStrictEqual(['200', '200', '404'])
  })

  test('malformed input after a request does not affect its response, which is the last', async () => {
    const received = await sendRaw(server.port, `${GET}\r\nnonsense\r\n\r\n`)
    const response = parseResponse(received)
    expect([response.status, response.body['status']]).toStrictEqual([200, 'success'])
    expect(response.headers.get('connection')).toBe('close')
    expect(received.split('HTTP/1.1 ').length).toBe(2)
  })
})

describe.concurrent('408: a request must be complete within the timeout', () => {
  for (const [name, bytes] of [
    ['no data', ''],
    ['an incomplete request line', 'GET /api/dom'],
    ['an incomplete header', `${GET}X-A: `],
    ['an incomplete body', `${POST}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{`],
    ['an incomplete chunk', `${POST}${CHUNKED}5\r\nab`],
  ] as const) {
    test(name, async () => {
      const response = parseResponse(await sendRaw(hasty.port, bytes))
      expect(response.status).toBe(408)
      expect(response.body['code']).toBe('timeout')
      expect(problemFault(response)).toBeUndefined()
    })
  }

  test('sending single bytes does not extend the timeout', async () => {
    const received = await new Promise<string>((resolve) => {
      let all = ''
      const socket = connect(hasty.port, '127.0.0.1')
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
    expect(parseResponse(received).status).toBe(408)
  })
})

describe.concurrent('a request refused before it is complete', () => {
  const tooLong = 99_999_999
  for (const [name, bytes, expected] of [
    ['a Content-Length above the limit', `${OPEN_POST}Content-Length: ${tooLong}\r\n\r\nx`, 413],
    [
      'a chunked body above the limit',
      `${OPEN_POST}${CHUNKED}50000\r\n${'x'.repeat(0x4ffff)}`,
      413,
    ],
    [
      'a body in more than 1,000 pieces',
      `${OPEN_POST}${CHUNKED}${'1\r\nx\r\n'.repeat(1_001)}`,
      413,
    ],
    ['an unknown path', `GET /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx`, 404],
  ] as const) {
    test(`${name}: ${expected} and no second response`, async () => {
      const received = await sendRaw(hasty.port, bytes)
      const response = parseResponse(received)
      expect(response.status).toBe(expected)
      expect(problemFault(response)).toBeUndefined()
      expect(response.headers.get('connection')).toBe('close')
      expect(received.split('HTTP/1.1 ').length).toBe(2)
    })
  }

  test('a client that sends the whole body before reading receives the response', async () => {
    const body = Buffer.alloc(20_000_000, 'x')
    const head = `${OPEN_POST}Content-Length: ${body.length}\r\n\r\n`
    const received = await sendRaw(server.port, Buffer.concat([Buffer.from(head), body]))
    expect(parseResponse(received).status).toBe(413)
  })

  test('the connection stays open after a complete request is refused', async () => {
    const refused = 'POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc'
    const received = await sendRaw(server.port, `${refused}${GET}Connection: close\r\n\r\n`)
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, code]) => code)
    expect(statuses).toStrictEqual(['404', '200'])
  })
})
