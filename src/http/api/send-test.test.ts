import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest'
import {
  type App,
  startApp,
  WAIT_FOR_EXTRACTION,
  WITHOUT_POLLING,
} from '../../../test/support/app.ts'
import { post, problemFault, request, requestFrom } from '../../../test/support/http-client.ts'
import { openTestServer } from '../../../test/support/http-server.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/support/trusted-proxy.ts'
import { parseAddress } from '../../core/address.ts'
import { makeSecretToken, secretHash } from '../../core/id.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ env: PROXY_ENV, ...WAIT_FOR_EXTRACTION, intervals: WITHOUT_POLLING })
})
afterAll(() => app.stop())

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
    assert.deepEqual([status, Object.keys(body)], [200, ['status', 'message']])
    const [message, ...more] = await list(token)
    assert.deepEqual(more, [])
    const host = email.split('@')[1]
    assert.deepEqual(
      [message?.['sender_email'], message?.['subject']],
      [`postmaster@${host}`, 'Test message'],
    )
    assert.match(String(message?.['code']), /^\d{6}$/)
  })
})

test('200: also if load balancers on loopback send a PROXY header', async () => {
  const proxied = await startApp({ env: { MAYFLY_SMTP_PROXY_FROM: '127.0.0.1,::1' } })
  onTestFinished(() => proxied.stop())
  const { token } = await proxied.session()
  assert.equal((await post(`${proxied.url}/api/send-test`, { token })).status, 200)
})

test('403: a Gmail alias; addresses whose rules refuse the mail are in rules.test.ts', async () => {
  const server = await openTestServer()
  onTestFinished(() => server.stop())
  const [account, alias] = ['joe@gmail.com', 'j.oe@gmail.com'].map(parseAddress)
  assert.ok(account && alias)
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
  assert.deepEqual([response.status, response.body['code']], [403, 'not_allowed'])
  assert.equal(problemFault(response), undefined)
})

test('401: an unknown token', async () => {
  const response = await sendTest('x')
  assert.deepEqual([response.status, response.body['code']], [401, 'invalid_token'])
})

describe('429', () => {
  test('a mailbox gets one a minute', async () => {
    const { token } = await app.session()
    assert.equal((await sendFrom(token, newClient())).status, 200)
    const response = await sendFrom(token, newClient())
    assert.deepEqual([response.status, response.body['code']], [429, 'rate_limited'])
    app.moveClock(60)
    assert.equal((await sendFrom(token, newClient())).status, 200)
  })

  test('a client sends ten a minute', async () => {
    const client = newClient()
    const statuses: number[] = []
    for (let sent = 0; sent < 11; sent += 1) {
      statuses.push((await sendFrom((await app.session()).token, client)).status)
    }
    assert.deepEqual(statuses, [...Array(10).fill(200), 429])
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
    assert.deepEqual([response.status, response.body['code']], [503, 'overloaded'])
    assert.equal(problemFault(response), undefined)
  }
})
