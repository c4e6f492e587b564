import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { request, requestFrom } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { readMetrics } from '../../base/metrics.ts'
import { StoreUnavailable } from '../../base/problem.ts'
import { assertProblem, signInTo, ADMIN_TOKEN as TOKEN } from './testing/admin-client.ts'

// Limits on wrong tokens, and what the operator finds in the log and in the metrics.

const BEARER = { authorization: `Bearer ${TOKEN}` }

// Limits recover with time.
const NOW = new Date()

let server: TestServer
beforeAll(async () => {
  const env = { ...PROXY_ENV, MAYFLY_ADMIN_TOKEN: TOKEN }
  server = await openTestServer({ env, now: () => NOW })
})
afterAll(() => server.stop())

type Headers = Record<string, string>

const send = (path: string, headers: Headers, body: string | URLSearchParams = '') =>
  request(`${server.url}/admin/api${path}`, { method: 'POST', headers, body })
const signIn = () => signInTo(server.url)

describe('429', () => {
  test('after 20 wrong tokens a client cannot sign in, and others and cookies still can', async () => {
    const { cookie } = await signIn()
    const from = (client: string, token: string, path = '/admin/api/sign-in', method = 'POST') =>
      requestFrom(server.port, PROXY, {
        method,
        path,
        headers: { 'x-forwarded-for': client, authorization: `Bearer ${token}` },
      })
    const [client, other] = [newClient(), newClient()]
    for (let guess = 0; guess < 20; guess += 1) {
      const path = guess % 2 === 0 ? '/admin/api/sign-in' : '/admin/api/sessions/end'
      expect((await from(client, `guess${guess}`, path)).status).toBe(401)
    }
    for (const token of ['guess', TOKEN]) {
      assertProblem(await from(client, token), 429, 'rate_limited')
      assertProblem(await from(client, token, '/admin/api/overview', 'GET'), 429, 'rate_limited')
    }
    expect((await from(other, TOKEN)).status).toBe(200)
    const headers = { 'x-forwarded-for': client, cookie }
    const path = '/admin/api/overview'
    expect((await requestFrom(server.port, PROXY, { path, headers })).status).toBe(200)
  })

  test('right tokens use nothing up', async () => {
    const headers = { 'x-forwarded-for': newClient(), ...BEARER }
    for (let count = 0; count < 30; count += 1) {
      const path = '/admin/api/overview'
      expect((await requestFrom(server.port, PROXY, { path, headers })).status).toBe(200)
    }
  })

  test('a local client is limited too: it may be a proxy that hides its clients', async () => {
    const local = await openTestServer({ env: { MAYFLY_ADMIN_TOKEN: TOKEN }, now: () => NOW })
    const status = async (authorization: string) =>
      (await request(`${local.url}/metrics`, { headers: { authorization } })).status
    for (let guess = 0; guess < 20; guess += 1) expect(await status(`Bearer ${guess}`)).toBe(401)
    expect(await status('Bearer guess')).toBe(429)
    expect(await status(BEARER.authorization)).toBe(429)
    expect(local.logged.map(({ level, facts }) => [level, facts['client']])).toStrictEqual([
      ['warn', 'local'],
    ])
    await local.stop()
  })

  test('in /readyz such a client is not the operator, not even a trusted proxy', async () => {
    for (const forwarded of [{}, { 'x-forwarded-for': newClient() }]) {
      const read = async (token: string) => {
        const headers = { ...forwarded, authorization: `Bearer ${token}` }
        const response = await requestFrom(server.port, PROXY, { path: '/readyz', headers })
        expect(response.status).toBe(200)
        return Object.keys(response.body)
      }
      expect(await read(TOKEN)).toStrictEqual(['status', 'client'])
      for (let guess = 0; guess < 25; guess += 1) {
        expect(await read(`guess${guess}`)).toStrictEqual(['status'])
      }
      expect(await read(TOKEN)).toStrictEqual(['status'])
    }
  })

  test('wrong tokens are counted in the metrics', async () => {
    const count = (reason: string) =>
      readMetrics()
        .find(({ name }) => name === 'mayfly_admin_token_refusals_total')
        ?.values.find(({ labels }) => labels['reason'] === reason)?.value ?? 0
    const before = [count('wrong'), count('rate_limited')] as const
    const headers = { 'x-forwarded-for': newClient(), authorization: 'Bearer wrong' }
    for (let guess = 0; guess < 25; guess += 1) {
      await requestFrom(server.port, PROXY, { path: '/admin/api/overview', headers })
    }
    expect([count('wrong') - before[0], count('rate_limited') - before[1]]).toStrictEqual([20, 5])
  })

  test('requests with a cookie or without any are limited like others', async () => {
    const { cookie } = await signIn()
    for (const sent of [{}, { cookie }] as Headers[]) {
      const headers = { 'x-forwarded-for': newClient(), ...sent }
      const path = '/admin/api/domains'
      const responses = await Promise.all(
        Array.from({ length: 205 }, () => requestFrom(server.port, PROXY, { path, headers })),
      )
      expect(responses.filter(({ status }) => status === 429).length).toBe(5)
    }
  })
})

describe('the log', () => {
  // An error has no fields of its own that JSON would contain.
  const textOf = ({ logged }: TestServer) =>
    JSON.stringify(logged, (_, value) => (value instanceof Error ? String(value.stack) : value))

  test('has neither the token nor a cookie, whatever fails', async () => {
    const { cookie } = await signIn()
    let fault: Error = new Error('the query failed')
    const faulty = await openTestServer({
      env: { MAYFLY_ADMIN_TOKEN: TOKEN },
      shopOverrides: {
        async hasAdminSession() {
          throw fault
        },
      },
    })
    const url = `${faulty.url}/admin/api/overview?token=${TOKEN}&id=${cookie}`
    const mistyped = TOKEN.replace('admin', 'admim')
    const wrong = { headers: { authorization: `Bearer ${mistyped}` } }
    expect((await request(url, wrong)).status).toBe(401)
    expect((await request(url, { headers: { cookie } })).status).toBe(500)
    fault = new StoreUnavailable(new Error('unreachable'))
    expect((await request(url, { headers: { cookie } })).status).toBe(503)
    expect(faulty.logged.map(({ level }) => level)).toStrictEqual(['error', 'warn'])
    for (const secret of [TOKEN, mistyped, cookie.replace(/^.*=/, '')]) {
      expect(textOf(faulty)).not.toContain(secret)
      expect(textOf(server)).not.toContain(secret)
    }
    await faulty.stop()
  })

  test('names sign-ins and changes, without complete addresses', async () => {
    const { cookie } = await signIn()
    const headers = { origin: server.url, cookie }
    server.logged.splice(0)
    await send('/blocks', headers, new URLSearchParams({ entry: 'ann.lee@spam.test' }))
    await send('/blocks/remove', headers, new URLSearchParams({ entry: 'ann.lee@spam.test' }))
    await send('/blocks/remove', headers, new URLSearchParams({ entry: 'ann.lee@spam.test' }))
    await send('/mail/delete', headers, new URLSearchParams({ all: '1', up_to_id: '1' }))
    await send('/sign-out', headers)
    await request(`${server.url}/admin/api/overview`, { headers: BEARER })
    await send('/sign-in', BEARER)
    expect(server.logged.every(({ facts }) => facts['client'] === 'local')).toBeTruthy()
    expect(
      server.logged.map(({ level, facts }) => [level, facts['action'], facts['entry']]),
    ).toStrictEqual([
      ['info', '/blocks', 'a…@spam.test'],
      ['info', '/blocks/remove', 'a…@spam.test'],
      ['info', '/mail/delete', undefined],
      ['info', '/sign-out', undefined],
      ['info', '/sign-in', undefined],
    ])
  })
})
