import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, createSecureContext, type TLSSocket } from 'node:tls'
import { afterEach, describe, expect, test } from 'vitest'
import { sendRaw } from '../../test/kit/http/http-client.ts'
import { createHttpsServer, redirectToHttps } from './https.ts'
import { challengeCertificate, selfSigned } from './x509.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function listen(server: Server): Promise<number> {
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}
const hello: RequestListener = (_, response) => void response.end('hello')

describe('without TLS, a client of another machine', () => {
  async function send(head: string, { isProxied = false, from = '203.0.113.9' } = {}) {
    const options = { baseUrl: 'https://box.test:8443', isProxied: () => isProxied }
    const server = createServer({ requireHostHeader: false }, redirectToHttps(options, hello))
    server.prependListener('connection', (socket) => {
      Object.defineProperty(socket, 'remoteAddress', { value: from })
    })
    const response = await sendRaw(await listen(server), `${head}\r\nConnection: close\r\n\r\n`)
    const text = String(response)
    return [/^HTTP\/1\.1 (\d+)/.exec(text)?.[1], /^location: (.*?)\r$/im.exec(text)?.[1]].join(' ')
  }

  for (const [what, head, expected] of [
    [
      'is redirected with its path',
      'GET /a?b=c HTTP/1.1\r\nHost: box.test',
      '308 https://box.test:8443/a?b=c',
    ],
    [
      'is redirected with its method',
      'POST /api/create-session HTTP/1.1\r\nHost: box.test\r\nContent-Length: 0',
      '308 https://box.test:8443/api/create-session',
    ],
    [
      'is redirected to the base URL, whatever Host says',
      'GET / HTTP/1.1\r\nHost: evil.test',
      '308 https://box.test:8443/',
    ],
    [
      'is redirected to the same policy',
      'GET /.well-known/mta-sts.txt HTTP/1.1\r\nHost: mta-sts.box.test',
      '308 https://mta-sts.box.test:8443/.well-known/mta-sts.txt',
    ],
    ['is redirected without Host', 'GET / HTTP/1.0', '308 https://box.test:8443/'],
    [
      'cannot name another host in its path',
      'GET http://evil.test/ HTTP/1.1\r\nHost: box.test',
      '308 https://box.test:8443/',
    ],
    ['gets a challenge', 'GET /.well-known/acme-challenge/x HTTP/1.1\r\nHost: box.test', '200 '],
    ['gets health', 'GET /livez HTTP/1.1\r\nHost: box.test', '200 '],
    ['gets readiness', 'GET /readyz?x HTTP/1.1\r\nHost: box.test', '200 '],
    ['gets metrics', 'GET /metrics HTTP/1.1\r\nHost: box.test', '200 '],
    [
      'gets nothing below those',
      'GET /livez/../admin HTTP/1.1\r\nHost: box.test',
      '308 https://box.test:8443/livez/../admin',
    ],
  ] as const) {
    test(what, async () => {
      expect(await send(head)).toBe(expected)
    })
  }

  const head = 'GET / HTTP/1.1\r\nHost: box.test'
  test('that uses https at a trusted proxy is served', async () => {
    expect(await send(head, { isProxied: true })).toBe('200 ')
  })
  for (const from of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
    test(`is none if it comes from ${from}`, async () => {
      expect(await send(head, { from })).toBe('200 ')
    })
  }
})

describe('a client with TLS', () => {
  const request = { now: new Date(), serial: Buffer.from([1]) }
  const pemOf = (hostname: string) => selfSigned({ ...request, hostname })
  const contextOf = (pem: string) => createSecureContext({ cert: pem, key: pem })

  function open() {
    const pems = new Map(['default.test', 'box.test'].map((name) => [name, pemOf(name)]))
    const followers: ((pem: string) => void)[] = []
    const pem = (name: string) => pems.get(name) ?? String(pems.get('default.test'))
    const contexts = {
      contextFor: (name = '') => contextOf(pem(name)),
      followDefault(use: (pem: string) => void) {
        followers.push(use)
        use(pem(''))
      },
      expiresAt: () => undefined,
      isChallengeable: (name: string) => name !== 'box.test',
      findChallenge: async (name: string) => {
        if (name === 'down.test') throw new Error('the store is unavailable')
        if (name !== 'challenge.test') return undefined
        return contextOf(challengeCertificate({ ...request, hostname: name }, 'x.y'))
      },
    }
    const replace = (name: string) => {
      pems.set('default.test', pemOf(name))
      for (const use of followers) use(pem(''))
    }
    return { server: createHttpsServer({}, contexts, hello), replace }
  }

  async function handshake(port: number, options: object): Promise<TLSSocket> {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
    await once(socket, 'secureConnect')
    return socket
  }
  const nameOf = (socket: TLSSocket) => socket.getPeerX509Certificate()?.subject

  for (const [what, options, expected] of [
    ['gets the certificate of its host name', { servername: 'box.test' }, 'CN=box.test'],
    ['gets it in any case', { servername: 'BOX.test' }, 'CN=box.test'],
    ['without a host name gets the default', {}, 'CN=default.test'],
    ['with an unknown host name gets the default', { servername: 'x.test' }, 'CN=default.test'],
    ['is served while the store is unavailable', { servername: 'down.test' }, 'CN=default.test'],
  ] as const) {
    test(what, async () => {
      const socket = await handshake(await listen(open().server), options)
      expect(nameOf(socket)).toBe(expected)
      socket.write('GET / HTTP/1.1\r\nHost: box.test\r\n\r\n')
      const [answer] = await once(socket, 'data')
      expect(String(answer)).toMatch(/^HTTP\/1\.1 200 OK\r\nstrict-transport-security: max-age=/i)
      socket.destroy()
    })
  }

  for (const version of ['TLSv1.2', 'TLSv1.3'])
    test(`gets the challenge only with acme-tls/1, and the connection is closed (${version})`, async () => {
      const port = await listen(open().server)
      const acme = {
        servername: 'challenge.test',
        ALPNProtocols: ['acme-tls/1'],
        maxVersion: version,
      }
      const socket = await handshake(port, acme)
      expect([socket.alpnProtocol, nameOf(socket)]).toStrictEqual([
        'acme-tls/1',
        'CN=challenge.test',
      ])
      await once(socket, 'close')
      const other = await handshake(port, { ...acme, ALPNProtocols: ['h2', 'http/1.1'] })
      expect([other.alpnProtocol, nameOf(other)]).toStrictEqual(['http/1.1', 'CN=default.test'])
      other.destroy()
    })

  for (const servername of ['box.test', 'due.test', 'down.test']) {
    test(`is refused with acme-tls/1 if there is no challenge for ${servername}`, async () => {
      const port = await listen(open().server)
      const acme = { servername, ALPNProtocols: ['acme-tls/1'] }
      await expect(handshake(port, acme)).rejects.toThrow()
    })
  }

  test('keeps its connection when the certificate is replaced', async () => {
    const { server, replace } = open()
    const port = await listen(server)
    const socket = await handshake(port, {})
    replace('next.test')
    socket.write('GET / HTTP/1.1\r\nHost: box.test\r\n\r\n')
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200/)
    expect(nameOf(socket)).toBe('CN=default.test')
    const next = await handshake(port, {})
    expect(nameOf(next)).toBe('CN=next.test')
    for (const one of [socket, next]) one.destroy()
  })

  test('that does not speak it is disconnected', async () => {
    const port = await listen(open().server)
    expect(String(await sendRaw(port, 'GET / HTTP/1.1\r\nHost: box.test\r\n\r\n'))).toBe('')
  })
})
