import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  type App,
  startApp,
  WAIT_FOR_EXTRACTION,
  WITHOUT_POLLING,
} from '../../../test/kit/app/app.ts'
import { post, problemFault, request, requestFrom } from '../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../test/kit/http/http-server.ts'
import { expectRate } from '../../../test/kit/http/rate.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { parseAddress } from '../../base/address.ts'
import { makeSecretToken, secretHash } from '../../base/id.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ env: PROXY_ENV, ...WAIT_FOR_EXTRACTION, intervals: WITHOUT_POLLING })
})
afterAll(() => app.stop())

const OWN_ADDRESS = Object.values(networkInterfaces())
  .flatMap((found) => found ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address

const sendTest = (token: string) => post(`${app.url}/api/send-test`, { token })
const list = async (token: string) =>
  (await request(`${app.url}/api/check-mail?token=${token}`)).body['messages'] as Record<
    string,
    unknown
  >[]
const sendFrom = (token: string, client: string) =>
  requestFrom(app.httpPort, PROXY, {
    method: 'POST',
    path: `/api/send-test?token=${token}`,
    headers: { 'x-forwarded-for': client },
  })

describe('200', () => {
  test('a mail with a code arrives, from our postmaster, before the response', async () => {
    const { email, token } = await app.session()
    const { status, body } = await sendTest(token)
    expect([status, Object.keys(body)]).toStrictEqual([200, ['status', 'message']])
    const [message, ...more] = await list(token)
    expect(more).toStrictEqual([])
    const host = email.split('@')[1]
    expect([message?.['sender_email'], message?.['subject']]).toStrictEqual([
      `postmaster@${host}`,
      'Test message',
    ])
    expect(String(message?.['code'])).toMatch(/^\d{6}$/)
  })
})

describe('behind load balancers on loopback that send a PROXY header', () => {
  let proxied: App
  beforeAll(async () => {
    proxied = await startApp({
      env: { MAYFLY_HOST: '::', MAYFLY_SMTP_PROXY_FROM: '127.0.0.1,::1' },
    })
  })
  afterAll(() => proxied.stop())

  test('200', async () => {
    const { token } = await proxied.session()
    expect((await post(`${proxied.url}/api/send-test`, { token })).status).toBe(200)
  })

  // Forwarders, such as those of rootless containers, send all mail from there.
  test.skipIf(!OWN_ADDRESS)('other mail from an address of this machine has limits', async () => {
    const host = OWN_ADDRESS ?? expect.fail()
    const sockets: Socket[] = []
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
    })
    const greet = async (localAddress: string, header = '') => {
      const socket = connect({ host, port: proxied.smtpPort, localAddress })
      sockets.push(socket)
      socket.write(header)
      const [reply] = await once(socket, 'data')
      return Number(String(reply).slice(0, 3))
    }
    const greetings = await Promise.all(Array.from({ length: 50 }, () => greet(host)))
    expect(new Set(greetings)).toStrictEqual(new Set([220]))
    expect(await greet(host)).toBe(421)
    expect(await greet('127.0.0.1', `PROXY TCP4 ${host} ${host} 40000 25\r\n`)).toBe(421)
    expect(await greet('127.0.0.1', 'PROXY UNKNOWN\r\n')).toBe(220)
  })
})

test('403: a Gmail alias; addresses whose rules refuse the mail are in rules.test.ts', async () => {
  const server = await openTestServer()
  onTestFinished(() => server.stop())
  const [account, alias] = ['joe@gmail.com', 'j.oe@gmail.com'].map(parseAddress)
  expect.assert(account && alias)
  await server.store.addAccount(account)
  const [joe] = await server.store.listAccounts(server.now())
  const [token, createdAt] = [makeSecretToken(new Uint8Array(32)), server.now()]
  await server.store.createSession({
    address: alias,
    tokenHash: secretHash(token),
    keyId: undefined,
    accountId: joe?.id,
    createdAt,
    expiresAt: new Date(createdAt.getTime() + 60_000),
    cooldownMs: 0,
  })
  const response = await post(`${server.url}/api/send-test`, { token })
  expect([response.status, response.body['code']]).toStrictEqual([403, 'not_allowed'])
  expect(problemFault(response)).toBeUndefined()
})

test('401: an unknown token', async () => {
  const response = await sendTest('x')
  expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
})

describe('429', () => {
  test('a mailbox gets one a minute', async () => {
    const { token } = await app.session()
    expect((await sendFrom(token, newClient())).status).toBe(200)
    const response = await sendFrom(token, newClient())
    expect([response.status, response.body['code']]).toStrictEqual([429, 'rate_limited'])
    app.moveClock(60)
    expect((await sendFrom(token, newClient())).status).toBe(200)
  })

  test('a client sends ten a minute', async () => {
    const client = newClient()
    await expectRate({ count: 10, seconds: 6 }, async () => {
      const { status } = await sendFrom((await app.session()).token, client)
      expect([200, 429]).toContain(status)
      return status === 200
    })
  })
})

test('503: the SMTP server is unreachable; the mailbox is not charged for it', async () => {
  const server = await openTestServer({ env: PROXY_ENV })
  onTestFinished(() => server.stop())
  const { body } = await post(`${server.url}/api/create-session`, {})
  for (const client of [newClient(), newClient()]) {
    const response = await requestFrom(server.port, PROXY, {
      method: 'POST',
      path: `/api/send-test?token=${body['token']}`,
      headers: { 'x-forwarded-for': client },
    })
    expect([response.status, response.body['code']]).toStrictEqual([503, 'overloaded'])
    expect(problemFault(response)).toBeUndefined()
  }
})
