import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { openWebhookClient } from '../../../../src/webhooks/client.ts'
import { ATTEMPT_ERRORS, parseRetryAfter } from '../../../../src/webhooks/rules.ts'
import { bytesOf } from '../seeds.ts'
import { check, type FuzzTarget } from '../target.ts'

let response: Buffer = Buffer.alloc(0)
let port = 0
const client = openWebhookClient({
  allowed: { hosts: [], ranges: ['127.0.0.1'] },
  dnsServers: [],
  timeoutMs: 2_000,
})

/** What the receiver of a webhook sends, in one piece, before it closes. */
export const target: FuzzTarget = {
  seeds: bytesOf([
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    'HTTP/1.1 429 Slow\r\nRetry-After: 17\r\nDate: Sun, 01 Mar 2026 12:00:00 GMT\r\n\r\n',
    'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.0 204 No\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
  ]),
  tokens: (
    '\r\n|\n|\r|:| |\0|\t|HTTP/1.1 |HTTP/2.0 |200|999|0|-1|OK|Content-Length: 99\r\n|Transfer-Encoding: chunked\r\n|' +
    'Connection: close\r\n|Retry-After: |ffffffff\r\n|0\r\n\r\n|Set-Cookie: a=b\r\n|Location: //a\r\n|Upgrade: h2c\r\n|é'
  ).split('|'),
  maxBytes: 32 * 1024,
  async open() {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(response))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
    return async () => void server.close()
  },
  async run(input) {
    response = input
    const request = { url: `http://127.0.0.1:${port}/`, keyId: 'key_1', headers: {}, body: '{}' }
    const { status, error, retryAfter } = await client.send(request)
    const known = error === null || ATTEMPT_ERRORS.includes(error)
    const ms = parseRetryAfter(retryAfter, new Date(0)) ?? 0
    check(ms >= 0 && Number.isFinite(ms), `Retry-After: ${ms}`)
    check(known && (status === null) === (error !== null), `status ${status}, error ${error}`)
    return status !== null
  },
}
