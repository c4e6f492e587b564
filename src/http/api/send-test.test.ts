import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import {
  type App,
  startApp,
  WAIT_FOR_EXTRACTION,
  WITHOUT_POLLING,
} from '../../../test/support/app.ts'
import { post, problemFault, request, requestFrom } from '../../../test/support/http-client.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/support/trusted-proxy.ts'

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

describe('403', () => {
  for (const rules of [{ only_from: 'shop.test' }, { max_messages: '1' }] as const) {
    test(`an address with ${Object.keys(rules)[0]} that refuses the mail`, async () => {
      const { email, token } = await app.session(rules)
      if ('max_messages' in rules) await app.mail(email)
      const response = await sendTest(token)
      assert.deepEqual([response.status, response.body['code']], [403, 'not_allowed'])
      assert.equal(problemFault(response), undefined)
    })
  }
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
