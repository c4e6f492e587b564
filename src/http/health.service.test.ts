import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../test/kit/app/app.ts'
import { type GmailApp, startGmailApp } from '../../test/kit/gmail/gmail-app.ts'
import { problemFault, request, requestFrom, sendRaw } from '../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../test/kit/http/http-server.ts'
import {
  dashboardQueries,
  labelsIn,
  labelsServed,
  metricsIn,
  readAlerts,
} from '../../test/kit/http/monitoring-files.ts'
import { newClient, PROXY, PROXY_ENV } from '../../test/kit/http/trusted-proxy.ts'
import { openServerWithManualClock } from '../../test/kit/manual-clock.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { Problem } from '../base/problem.ts'
import { type HealthDeps, readyzRoute } from './health.ts'
import type { HttpRequest } from './server/request.ts'

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
      expect((await request(`${app.url}/livez`)).body).toStrictEqual({ status: 'success' })
      expect((await request(`${notReady.url}/livez`)).body).toStrictEqual({ status: 'success' })
    })
  })
})

describe('/readyz', () => {
  describe('200', () => {
    test('the service is ready if mail can be stored', async () => {
      expect((await request(`${app.url}/readyz`)).body).toStrictEqual({ status: 'success' })
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
        expect([response.status, response.body]).toStrictEqual([200, body])
      }
      await open.stop()
      await closed.stop()
    })

    test('a failing Gmail account does not affect readiness, and the operator sees each account', async () => {
      await gmail.session({ gmail_auto: '1' })
      const anonymous = await request(`${gmail.url}/readyz`)
      expect([anonymous.status, anonymous.body]).toStrictEqual([200, { status: 'success' }])
      const operator = await request(`${gmail.url}/readyz`, { headers: ADMIN })
      expect(operator.body).toStrictEqual({
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
      expect([response.status, response.body['message']]).toStrictEqual([503, REASON])
      expect(problemFault(response)).toBeUndefined()
    })

    test('the reason is returned only to the operator if an admin token is configured', async () => {
      const anonymous = await request(`${withAdminToken.url}/readyz`)
      expect(anonymous.status).toBe(503)
      expect(anonymous.text).not.toMatch(/disk/)
      const wrong = await request(`${withAdminToken.url}/readyz`, {
        headers: { authorization: 'Bearer secre' },
      })
      expect(wrong.text).not.toMatch(/disk/)
      const operator = await request(`${withAdminToken.url}/readyz`, { headers: ADMIN })
      expect(operator.body['message']).toBe(REASON)
    })
  })
  describe('503 while shutting down', () => {
    test('the service is not ready, whatever the state of the store', async () => {
      const deps = { draining: () => true } as HealthDeps
      const httpRequest: HttpRequest = {
        method: 'GET',
        headers: {},
        body: new Uint8Array(),
        client: undefined,
        sourceAddress: () => 'local',
        isTrustedProxy: () => false,
        secure: () => false,
        isExposed: () => false,
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
      await expect(readyzRoute.handle({}, deps, httpRequest)).rejects.toSatisfy(stopping)
    })
  })
  describe('429', () => {
    test('health checks of a trusted proxy are not rate-limited', async () => {
      const request = 'GET /readyz HTTP/1.1\r\nHost: x\r\n'
      const flood = `${`${request}\r\n`.repeat(600)}${request}Connection: close\r\n\r\n`
      const received = await sendRaw(app.httpPort, flood, { from: PROXY })
      expect(received.split('HTTP/1.1 200 ').length - 1).toBe(601)
    })

    test('a rate-limited client can still call readyz', async () => {
      const { server } = await openServerWithManualClock()
      const headers = { 'x-forwarded-for': newClient() }
      const from = (path: string) => requestFrom(server.port, PROXY, { path, headers })
      const responses = await Promise.all(Array.from({ length: 201 }, () => from('/api/domains')))
      expect(responses.some(({ status }) => status === 429)).toBeTruthy()
      expect((await from('/readyz')).status).toBe(200)
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
      expect(headers.get('content-type') ?? '').toMatch(/^text\/plain/)
      expect(text).toMatch(
        /^mayfly_http_requests_total\{route="\/api\/domains",status="2xx"\} [1-9]/m,
      )
      expect(text).toMatch(
        /^mayfly_http_requests_total\{route="\/api\/check-mail",status="4xx"\} [1-9]/m,
      )
      expect(text).toMatch(/^mayfly_http_requests_total\{route="none",status="4xx"\} [1-9]/m)
      expect(text).toMatch(/^mayfly_http_waiting 0$/m)
      expect(text).not.toMatch(/canary/)
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
      expect(new Set(served).size, 'each is served once').toBe(served.length)
      const named = metricsIn(queries)
      expect(named.length).toBeGreaterThan(15)
      expect(new Set(named).difference(new Set(served))).toStrictEqual(new Set())
      const samples = new Set(texts.flatMap(labelsServed))
      const missing = queries.flatMap(labelsIn).filter((label) => !samples.has(label))
      expect(missing).toStrictEqual([])
      expect(queries.flatMap(labelsIn).length).toBeGreaterThan(30)
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
        expect(Number(value?.split(' ').at(-1)), `${sample}: ${value}`).toBeGreaterThan(0)
      }
      expect(text).toMatch(/^mayfly_sweep_lag_seconds 0$/m)
      expect(text).toMatch(/^mayfly_live_sessions \d+$/m)
    })

    test('Gmail accounts are counted once per state, whatever the number of threads', async () => {
      const { text } = await request(`${gmail.url}/metrics`, { headers: ADMIN })
      expect(text.match(/^mayfly_gmail_accounts.*$/gm)).toStrictEqual([
        'mayfly_gmail_accounts{health="starting"} 0',
        'mayfly_gmail_accounts{health="ok"} 1',
        'mayfly_gmail_accounts{health="slow"} 0',
        'mayfly_gmail_accounts{health="failing"} 1',
      ])
      expect(text).not.toMatch(/@gmail|login/)
    })

    test('the operator can read metrics if an admin token is configured', async () => {
      expect((await request(`${withAdminToken.url}/metrics`, { headers: ADMIN })).status).toBe(200)
    })
  })

  describe('401', () => {
    test('other clients are refused if an admin token is configured', async () => {
      for (const headers of [{}, { authorization: 'Bearer other' }, { authorization: 'secret' }]) {
        const response = await request(`${withAdminToken.url}/metrics`, {
          headers: headers as Record<string, string>,
        })
        expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
        expect(problemFault(response)).toBeUndefined()
      }
      const inQuery = await request(`${withAdminToken.url}/metrics?token=secret`)
      expect(inQuery.status, 'an admin token never travels in an address').toBe(401)
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
        expect((await getMetrics(server.port, client, `guess${wrong}`)).status).toBe(401)
      }
      for (const token of ['guess', 'secret']) {
        const refused = await getMetrics(server.port, client, token)
        expect([refused.status, refused.body['code']]).toStrictEqual([429, 'rate_limited'])
        expect(problemFault(refused)).toBeUndefined()
      }
      const readyz = { path: '/readyz', headers: { 'x-forwarded-for': client } }
      expect((await requestFrom(server.port, PROXY, readyz)).status, 'no token, no guess').toBe(200)
      expect((await getMetrics(server.port, other, 'secret')).status).toBe(200)
      passSeconds(6)
      expect((await getMetrics(server.port, client, 'secret')).status).toBe(200)
    })

    test('the right token does not count towards the limit', async () => {
      const { server } = await openServerWithManualClock({ MAYFLY_ADMIN_TOKEN: 'secret' })
      const client = newClient()
      const responses = await Promise.all(
        Array.from({ length: 210 }, () => getMetrics(server.port, client, 'secret')),
      )
      expect([...new Set(responses.map(({ status }) => status))]).toStrictEqual([200])
    })
  })
})
