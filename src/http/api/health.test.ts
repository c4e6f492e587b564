import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp } from '../../../test/support/app.ts'
import { type GmailApp, startGmailApp } from '../../../test/support/gmail-app.ts'
import { problemFault, request, requestFrom, sendRaw } from '../../../test/support/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/support/http-server.ts'
import { openServerWithManualClock } from '../../../test/support/manual-clock.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/support/trusted-proxy.ts'
import { Problem } from '../../core/problem.ts'
import type { RouteDeps } from '../server/deps.ts'
import type { HttpRequest } from '../server/route.ts'
import { readyzRoute } from './health.ts'

const REASON = '3 MB of disk are free'
const ADMIN = { authorization: 'Bearer secret' }

let app: App
let troubled: TestServer
let guarded: TestServer
let gmail: GmailApp
beforeAll(async () => {
  app = await startApp({ env: PROXY_ENV })
  const storeOverrides = { obstacle: async () => ({ kind: 'full' as const, reason: REASON }) }
  troubled = await openTestServer({ storeOverrides })
  guarded = await openTestServer({ storeOverrides, env: { MAYFLY_ADMIN_TOKEN: 'secret' } })
  const accounts = [{ email: 'joe@gmail.com' }, { email: 'miller@gmail.com', masked: true }]
  gmail = await startGmailApp([...accounts, { email: 'off@gmail.com', active: false }], {
    MAYFLY_ADMIN_TOKEN: 'secret',
  })
  await gmail.setHealth('joe@gmail.com', 'failing', 'the server does not accept the login')
})
afterAll(async () => {
  await app.stop()
  await troubled.stop()
  await guarded.stop()
  await gmail.stop()
})

describe('/livez', () => {
  describe('200', () => {
    test('as long as the process answers, also when it cannot work', async () => {
      assert.deepEqual((await request(`${app.url}/livez`)).body, { status: 'success' })
      assert.deepEqual((await request(`${troubled.url}/livez`)).body, { status: 'success' })
    })
  })
})

describe('/readyz', () => {
  describe('200', () => {
    test('when mail can be kept', async () => {
      assert.deepEqual((await request(`${app.url}/readyz`)).body, { status: 'success' })
    })

    test('with a warning, for the operator alone when there is an admin token', async () => {
      const warnings = ['The system clock jumped ahead by 90 minutes.']
      const open = await openTestServer({ warnings })
      const closed = await openTestServer({ warnings, env: { MAYFLY_ADMIN_TOKEN: 'secret' } })
      const told = { status: 'success', warnings }
      for (const [url, headers, body] of [
        [open.url, {}, told],
        [closed.url, {}, { status: 'success' }],
        [closed.url, ADMIN, told],
      ] as const) {
        const asked = await request(`${url}/readyz`, { headers })
        assert.deepEqual([asked.status, asked.body], [200, body])
      }
      await open.stop()
      await closed.stop()
    })

    test('when a Gmail account fails; the operator hears how each of them is', async () => {
      await gmail.session({ gmail_auto: '1' })
      const stranger = await request(`${gmail.url}/readyz`)
      assert.deepEqual([stranger.status, stranger.body], [200, { status: 'success' }])
      const operator = await request(`${gmail.url}/readyz`, { headers: ADMIN })
      assert.deepEqual(operator.body, {
        status: 'success',
        gmail_accounts: [
          {
            id: await gmail.idOf('joe@gmail.com'),
            email: 'joe@gmail.com',
            health: 'failing',
            reason: 'the server does not accept the login',
            aliases: 0,
          },
          {
            id: await gmail.idOf('miller@gmail.com'),
            email: 'mi…r@gmail.com',
            health: 'ok',
            reason: '',
            aliases: 1,
          },
        ],
      })
    })
  })

  describe('503', () => {
    test('when it cannot, with the reason', async () => {
      const asked = await request(`${troubled.url}/readyz`)
      assert.deepEqual([asked.status, asked.body['message']], [503, REASON])
      assert.equal(problemFault(asked), undefined)
    })

    test('the reason is the operator’s when there is an admin token', async () => {
      const stranger = await request(`${guarded.url}/readyz`)
      assert.equal(stranger.status, 503)
      assert.doesNotMatch(stranger.text, /disk/)
      const wrong = await request(`${guarded.url}/readyz`, {
        headers: { authorization: 'Bearer secre' },
      })
      assert.doesNotMatch(wrong.text, /disk/)
      const operator = await request(`${guarded.url}/readyz`, { headers: ADMIN })
      assert.equal(operator.body['message'], REASON)
    })
  })
  describe('503 while we stop', () => {
    test('readiness turns, whatever the disk says', async () => {
      const deps = { draining: () => true } as RouteDeps
      const call: HttpRequest = {
        method: 'GET',
        headers: {},
        body: new Uint8Array(),
        client: undefined,
        sourceAddress: () => 'local',
        isTrustedProxy: () => false,
        secure: () => false,
        signal: () => AbortSignal.abort(),
        waitSignal: () => AbortSignal.abort(),
        throwIfClosed: () => {},
        onClose: () => {},
        addHeaders: () => {},
        key: undefined,
        reserveSendBudget: () => {},
      }
      const stopping = (error: unknown) =>
        error instanceof Problem && error.code === 'shutting_down'
      await assert.rejects(readyzRoute.handle({}, deps, call), stopping)
    })
  })
  describe('429', () => {
    test('a load balancer that is a trusted proxy is never held up', async () => {
      const request = 'GET /readyz HTTP/1.1\r\nHost: x\r\n'
      const flood = `${`${request}\r\n`.repeat(600)}${request}Connection: close\r\n\r\n`
      const heard = await sendRaw(app.httpPort, flood, { from: PROXY })
      assert.equal(heard.split('HTTP/1.1 200 ').length - 1, 601)
    })

    test('an address that has used up its requests may still ask whether we are ready', async () => {
      const door = await openServerWithManualClock()
      const headers = { 'x-forwarded-for': newClient() }
      const from = (path: string) => requestFrom(door.door.port, PROXY, { path, headers })
      const asked = await Promise.all(Array.from({ length: 201 }, () => from('/api/domains')))
      assert.ok(asked.some(({ status }) => status === 429))
      assert.equal((await from('/readyz')).status, 200)
    })
  })
})

describe('/metrics', () => {
  describe('200', () => {
    test('counts of every route by class of status, and of those who wait', async () => {
      await request(`${app.url}/api/domains`)
      await request(`${app.url}/api/check-mail`)
      await request(`${app.url}/api/nothing?token=canary`)
      const { text, headers } = await request(`${app.url}/metrics`)
      assert.match(headers.get('content-type') ?? '', /^text\/plain/)
      assert.match(
        text,
        /^mayfly_http_requests_total\{route="\/api\/domains",status="2xx"\} [1-9]/m,
      )
      assert.match(
        text,
        /^mayfly_http_requests_total\{route="\/api\/check-mail",status="4xx"\} [1-9]/m,
      )
      assert.match(text, /^mayfly_http_requests_total\{route="none",status="4xx"\} [1-9]/m)
      assert.match(text, /^mayfly_http_waiting 0$/m)
      assert.doesNotMatch(text, /canary/)
    })

    test('how many Gmail accounts are in each state, however many threads answer', async () => {
      const { text } = await request(`${gmail.url}/metrics`, { headers: ADMIN })
      assert.deepEqual(text.match(/^mayfly_gmail_accounts.*$/gm), [
        'mayfly_gmail_accounts{health="starting"} 0',
        'mayfly_gmail_accounts{health="ok"} 1',
        'mayfly_gmail_accounts{health="slow"} 0',
        'mayfly_gmail_accounts{health="failing"} 1',
      ])
      assert.doesNotMatch(text, /@gmail|login/)
    })

    test('to the operator when there is an admin token', async () => {
      assert.equal((await request(`${guarded.url}/metrics`, { headers: ADMIN })).status, 200)
    })
  })

  describe('401', () => {
    test('to everybody else then', async () => {
      for (const headers of [{}, { authorization: 'Bearer other' }, { authorization: 'secret' }]) {
        const asked = await request(`${guarded.url}/metrics`, {
          headers: headers as Record<string, string>,
        })
        assert.deepEqual([asked.status, asked.body['code']], [401, 'invalid_token'])
        assert.equal(problemFault(asked), undefined)
      }
      const inQuery = await request(`${guarded.url}/metrics?token=secret`)
      assert.equal(inQuery.status, 401, 'an admin token never travels in an address')
    })
  })

  describe('429', () => {
    const ask = (port: number, client: string, token: string) =>
      requestFrom(port, PROXY, {
        path: '/metrics',
        headers: { 'x-forwarded-for': client, authorization: `Bearer ${token}` },
      })

    test('after twenty wrong tokens in a minute, whatever comes next; another address may go on', async () => {
      const { door, passSeconds } = await openServerWithManualClock({
        MAYFLY_ADMIN_TOKEN: 'secret',
      })
      const [client, other] = [newClient(), newClient()]
      for (let wrong = 0; wrong < 20; wrong += 1) {
        assert.equal((await ask(door.port, client, `guess${wrong}`)).status, 401)
      }
      for (const token of ['guess', 'secret']) {
        const refused = await ask(door.port, client, token)
        assert.deepEqual([refused.status, refused.body['code']], [429, 'rate_limited'])
        assert.equal(problemFault(refused), undefined)
      }
      const readyz = { path: '/readyz', headers: { 'x-forwarded-for': client } }
      assert.equal((await requestFrom(door.port, PROXY, readyz)).status, 200, 'no token, no guess')
      assert.equal((await ask(door.port, other, 'secret')).status, 200)
      passSeconds(6)
      assert.equal((await ask(door.port, client, 'secret')).status, 200)
    })

    test('the right token costs nothing', async () => {
      const { door } = await openServerWithManualClock({ MAYFLY_ADMIN_TOKEN: 'secret' })
      const client = newClient()
      const asked = await Promise.all(
        Array.from({ length: 210 }, () => ask(door.port, client, 'secret')),
      )
      assert.deepEqual([...new Set(asked.map(({ status }) => status))], [200])
    })
  })
})
