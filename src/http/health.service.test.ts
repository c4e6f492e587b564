import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp } from '../../test/support/app.ts'
import { type GmailApp, startGmailApp } from '../../test/support/gmail-app.ts'
import { problemFault, request, requestFrom, sendRaw } from '../../test/support/http-client.ts'
import { openTestServer, type TestServer } from '../../test/support/http-server.ts'
import { openServerWithManualClock } from '../../test/support/manual-clock.ts'
import {
  dashboardQueries,
  labelsIn,
  labelsServed,
  metricsIn,
  readAlerts,
} from '../../test/support/monitoring-files.ts'
import { newClient, PROXY, PROXY_ENV } from '../../test/support/trusted-proxy.ts'
import { waitUntil } from '../../test/support/wait-until.ts'
import { Problem } from '../base/problem.ts'
import type { RouteDeps } from './deps.ts'
import { readyzRoute } from './health.ts'
import type { HttpRequest } from './server/route.ts'

const REASON = '3 MB of disk are free'
const ADMIN = { authorization: 'Bearer secret' }

let app: App
let notReady: TestServer
let withAdminToken: TestServer
let gmail: GmailApp
beforeAll(async () => {
  app = await startApp({ env: PROXY_ENV })
  const storeOverrides = { storageFault: async () => ({ kind: 'full' as const, reason: REASON }) }
  notReady = await openTestServer({ storeOverrides })
  withAdminToken = await openTestServer({ storeOverrides, env: { MAYFLY_ADMIN_TOKEN: 'secret' } })
  const accounts = [{ email: 'joe@gmail.com' }, { email: 'miller@gmail.com', masked: true }]
  gmail = await startGmailApp([...accounts, { email: 'off@gmail.com', active: false }], {
    MAYFLY_ADMIN_TOKEN: 'secret',
  })
  await gmail.setHealth('joe@gmail.com', 'failing', 'the server does not accept the login')
})
afterAll(async () => {
  await app.stop()
  await notReady.stop()
  await withAdminToken.stop()
  await gmail.stop()
})

describe('/livez', () => {
  describe('200', () => {
    test('the process is live even if it is not ready', async () => {
      assert.deepEqual((await request(`${app.url}/livez`)).body, { status: 'success' })
      assert.deepEqual((await request(`${notReady.url}/livez`)).body, { status: 'success' })
    })
  })
})

describe('/readyz', () => {
  describe('200', () => {
    test('the service is ready if mail can be stored', async () => {
      assert.deepEqual((await request(`${app.url}/readyz`)).body, { status: 'success' })
    })

    test('warnings are returned, only to the operator if an admin token is configured', async () => {
      const warnings = ['The system clock jumped ahead by 90 minutes.']
      const open = await openTestServer({ warnings })
      const closed = await openTestServer({ warnings, env: { MAYFLY_ADMIN_TOKEN: 'secret' } })
      const withWarnings = { status: 'success', warnings }
      for (const [url, headers, body] of [
        [open.url, {}, withWarnings],
        [closed.url, {}, { status: 'success' }],
        // Requests from loopback are not rate limited.
        [closed.url, ADMIN, { ...withWarnings, client: null }],
      ] as const) {
        const response = await request(`${url}/readyz`, { headers })
        assert.deepEqual([response.status, response.body], [200, body])
      }
      await open.stop()
      await closed.stop()
    })

    test('a failing Gmail account does not affect readiness, and the operator sees each account', async () => {
      await gmail.session({ gmail_auto: '1' })
      const anonymous = await request(`${gmail.url}/readyz`)
      assert.deepEqual([anonymous.status, anonymous.body], [200, { status: 'success' }])
      const operator = await request(`${gmail.url}/readyz`, { headers: ADMIN })
      assert.deepEqual(operator.body, {
        status: 'success',
        client: null,
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
    test('the reason is returned if mail cannot be stored', async () => {
      const response = await request(`${notReady.url}/readyz`)
      assert.deepEqual([response.status, response.body['message']], [503, REASON])
      assert.equal(problemFault(response), undefined)
    })

    test('the reason is returned only to the operator if an admin token is configured', async () => {
      const anonymous = await request(`${withAdminToken.url}/readyz`)
      assert.equal(anonymous.status, 503)
      assert.doesNotMatch(anonymous.text, /disk/)
      const wrong = await request(`${withAdminToken.url}/readyz`, {
        headers: { authorization: 'Bearer secre' },
      })
      assert.doesNotMatch(wrong.text, /disk/)
      const operator = await request(`${withAdminToken.url}/readyz`, { headers: ADMIN })
      assert.equal(operator.body['message'], REASON)
    })
  })
  describe('503 while shutting down', () => {
    test('the service is not ready, whatever the state of the store', async () => {
      const deps = { draining: () => true } as RouteDeps
      const httpRequest: HttpRequest = {
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
      await assert.rejects(readyzRoute.handle({}, deps, httpRequest), stopping)
    })
  })
  describe('429', () => {
    test('health checks of a trusted proxy are not rate-limited', async () => {
      const request = 'GET /readyz HTTP/1.1\r\nHost: x\r\n'
      const flood = `${`${request}\r\n`.repeat(600)}${request}Connection: close\r\n\r\n`
      const received = await sendRaw(app.httpPort, flood, { from: PROXY })
      assert.equal(received.split('HTTP/1.1 200 ').length - 1, 601)
    })

    test('a rate-limited client can still call readyz', async () => {
      const { server } = await openServerWithManualClock()
      const headers = { 'x-forwarded-for': newClient() }
      const from = (path: string) => requestFrom(server.port, PROXY, { path, headers })
      const responses = await Promise.all(Array.from({ length: 201 }, () => from('/api/domains')))
      assert.ok(responses.some(({ status }) => status === 429))
      assert.equal((await from('/readyz')).status, 200)
    })
  })
})

describe('/metrics', () => {
  describe('200', () => {
    test('requests are counted by route and status class, and waits are counted', async () => {
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

    test('every metric of the dashboard and the alerts is served, with its labels', async () => {
      await app.mail((await app.session()).email)
      await gmail.saveCheck({ name: 'mx', subject: 'a.test', status: 'ok', seen: '', fix: '' })
      const queries = [...dashboardQueries(), ...readAlerts().map(({ expr }) => expr)]
      // What was read for the series a moment ago may be served again, without this check.
      const ofGmail = async () => (await request(`${gmail.url}/metrics`, { headers: ADMIN })).text
      await waitUntil(async () => (await ofGmail()).includes('mayfly_check_status{'))
      const texts = [await ofGmail(), (await request(`${app.url}/metrics`)).text]
      const served = [...(texts[0] ?? '').matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name)
      assert.equal(new Set(served).size, served.length, 'each is served once')
      const named = metricsIn(queries)
      assert.ok(named.length > 15)
      assert.deepEqual(new Set(named).difference(new Set(served)), new Set())
      const samples = new Set(texts.flatMap(labelsServed))
      const missing = queries.flatMap(labelsIn).filter((label) => !samples.has(label))
      assert.deepEqual(missing, [])
      assert.ok(queries.flatMap(labelsIn).length > 30)
    })

    test('times, levels and the certificate have values', async () => {
      const { text } = await request(`${app.url}/metrics`)
      for (const sample of [
        'mayfly_smtp_command_seconds_count{command="DATA"}',
        'mayfly_store_commit_seconds_bucket{store="mail",le="+Inf"}',
        'mayfly_http_request_seconds_count{route="/api/create-session"}',
        'mayfly_stored_bytes',
        'mayfly_disk_free_bytes',
        'mayfly_smtp_certificate_expiry_timestamp_seconds',
        'process_resident_memory_bytes',
      ]) {
        const value = text.split('\n').find((line) => line.startsWith(`${sample} `))
        assert.ok(Number(value?.split(' ').at(-1)) > 0, `${sample}: ${value}`)
      }
      assert.match(text, /^mayfly_sweep_lag_seconds 0$/m)
      assert.match(text, /^mayfly_live_sessions \d+$/m)
    })

    test('Gmail accounts are counted once per state, whatever the number of threads', async () => {
      const { text } = await request(`${gmail.url}/metrics`, { headers: ADMIN })
      assert.deepEqual(text.match(/^mayfly_gmail_accounts.*$/gm), [
        'mayfly_gmail_accounts{health="starting"} 0',
        'mayfly_gmail_accounts{health="ok"} 1',
        'mayfly_gmail_accounts{health="slow"} 0',
        'mayfly_gmail_accounts{health="failing"} 1',
      ])
      assert.doesNotMatch(text, /@gmail|login/)
    })

    test('the operator can read metrics if an admin token is configured', async () => {
      assert.equal((await request(`${withAdminToken.url}/metrics`, { headers: ADMIN })).status, 200)
    })
  })

  describe('401', () => {
    test('other clients are refused if an admin token is configured', async () => {
      for (const headers of [{}, { authorization: 'Bearer other' }, { authorization: 'secret' }]) {
        const response = await request(`${withAdminToken.url}/metrics`, {
          headers: headers as Record<string, string>,
        })
        assert.deepEqual([response.status, response.body['code']], [401, 'invalid_token'])
        assert.equal(problemFault(response), undefined)
      }
      const inQuery = await request(`${withAdminToken.url}/metrics?token=secret`)
      assert.equal(inQuery.status, 401, 'an admin token never travels in an address')
    })
  })

  describe('429', () => {
    const getMetrics = (port: number, client: string, token: string) =>
      requestFrom(port, PROXY, {
        path: '/metrics',
        headers: { 'x-forwarded-for': client, authorization: `Bearer ${token}` },
      })

    test('after 20 wrong tokens in a minute a client is refused, and other clients are not', async () => {
      const { server, passSeconds } = await openServerWithManualClock({
        MAYFLY_ADMIN_TOKEN: 'secret',
      })
      const [client, other] = [newClient(), newClient()]
      for (let wrong = 0; wrong < 20; wrong += 1) {
        assert.equal((await getMetrics(server.port, client, `guess${wrong}`)).status, 401)
      }
      for (const token of ['guess', 'secret']) {
        const refused = await getMetrics(server.port, client, token)
        assert.deepEqual([refused.status, refused.body['code']], [429, 'rate_limited'])
        assert.equal(problemFault(refused), undefined)
      }
      const readyz = { path: '/readyz', headers: { 'x-forwarded-for': client } }
      assert.equal(
        (await requestFrom(server.port, PROXY, readyz)).status,
        200,
        'no token, no guess',
      )
      assert.equal((await getMetrics(server.port, other, 'secret')).status, 200)
      passSeconds(6)
      assert.equal((await getMetrics(server.port, client, 'secret')).status, 200)
    })

    test('the right token does not count towards the limit', async () => {
      const { server } = await openServerWithManualClock({ MAYFLY_ADMIN_TOKEN: 'secret' })
      const client = newClient()
      const responses = await Promise.all(
        Array.from({ length: 210 }, () => getMetrics(server.port, client, 'secret')),
      )
      assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200])
    })
  })
})
