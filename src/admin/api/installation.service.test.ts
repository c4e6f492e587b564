import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { requestFrom } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import type { Address } from '../../base/address.ts'
import { Problem, StoreUnavailable } from '../../base/problem.ts'
import { ADMIN_TOKEN, adminClient, assertProblem } from './testing/admin-client.ts'

// The block list, checks and Gmail accounts.

let server: TestServer
let runChecks: () => Promise<void> = async () => {}
let readSeries = async () => []
let progress: { done: number; all: number } | undefined
beforeAll(async () => {
  const env = { ...PROXY_ENV, MAYFLY_ADMIN_TOKEN: ADMIN_TOKEN }
  server = await openTestServer({
    env,
    storeOverrides: { readSeries: () => readSeries() },
    runChecks: () => runChecks(),
    checkProgress: async () => progress,
  })
})
afterAll(() => server.stop())

const { call, read, list, pages, assertRefused } = adminClient(() => server.url)

test('the overview says why it has no plots while only these cannot be read', async () => {
  const overview = async () => (await call('GET', '/overview', { range: '1h' })).body
  expect((await overview())['fault']).toBeNull()
  let reads = 0
  readSeries = async () => {
    reads += 1
    // The figures read two series.
    if (reads > 2) throw new StoreUnavailable()
    return []
  }
  onTestFinished(() => {
    readSeries = async () => []
  })
  const { fault, figures, series } = await overview()
  expect([fault, series]).toStrictEqual(['the store is unavailable', []])
  expect(figures).not.toBeNull()
})

describe('blocks', () => {
  test('are added, changed, found and removed', async () => {
    const added = await call('POST', '/blocks', { entry: 'Spam.Example', note: 'why', ttl: '2h' })
    expect([added.body['entry'], added.body['kind'], added.body['is_new']]).toStrictEqual([
      'spam.example',
      'domain',
      true,
    ])
    await call('POST', '/blocks', { entry: '192.0.2.7/24' })
    const again = await call('POST', '/blocks', { entry: 'spam.example' })
    expect(again.body['is_new']).toBe(false)
    const [found, ...others] = await list('/blocks', 'blocks', { text: 'SPAM' })
    expect([found?.['entry'], found?.['expires_at'], others]).toStrictEqual([
      'spam.example',
      null,
      [],
    ])
    const page = await read('/blocks', { limit: '1' })
    expect(page['total']).toBe(2)
    expect(await pages('/blocks', 'blocks', 'entry')).toStrictEqual([
      ['spam.example'],
      ['192.0.2.0/24'],
    ])
    for (const entry of ['spam.example', '192.0.2.0/24']) {
      expect((await call('POST', '/blocks/remove', { entry })).status).toBe(200)
      assertProblem(await call('POST', '/blocks/remove', { entry }), 404, 'not_found')
    }
    expect(await list('/blocks', 'blocks')).toStrictEqual([])
  })

  test('with invalid values are refused', async () => {
    await assertRefused([
      ['/blocks', {}, /^entry: /],
      ['/blocks', { entry: 'not an entry' }, /is not a domain/],
      ['/blocks', { entry: 'a.test', ttl: 'soon' }, /^ttl: /],
      ['/blocks', { entry: 'a.test', ttl: '0s' }, /^ttl: /],
      ['/blocks/remove', { entry: '?' }, /is not a domain/],
    ])
    assertProblem(await call('POST', '/blocks', { entry: '10.0.0.0/7' }), 400, 'entry_wide')
    expect((await call('POST', '/blocks', { entry: '10.0.0.0/7', force: '1' })).status).toBe(200)
    await call('POST', '/blocks/remove', { entry: '10.0.0.0/7' })
  })
})

test('checks are those of the last daily run', async () => {
  expect(await read('/checks')).toStrictEqual({
    status: 'success',
    finished_at: null,
    finished_at_iso: null,
    next_at: null,
    next_at_iso: null,
    running: null,
    checks: [],
  })
  const [finishedAt, since] = [new Date('2026-03-01T12:00:00Z'), new Date('2026-02-01T12:00:00Z')]
  const check = {
    name: 'mx',
    subject: 'box.test',
    status: 'failure',
    seen: 'none',
    fix: 'MX 10 x.',
  }
  const checks = [{ ...check, status: 'failure' as const, since }]
  await server.store.saveCheckRun({ finishedAt, checks })
  const run = await read('/checks')
  expect(run['finished_at_iso']).toBe('2026-03-01T12:00:00Z')
  expect(run['next_at_iso']).toBe('2026-03-02T12:00:00Z')
  const times = { since: '2026-02-01 12:00:00', since_iso: '2026-02-01T12:00:00Z' }
  expect(run['checks']).toStrictEqual([{ ...check, ...times }])
})

describe('a run of the checks on request', () => {
  test('returns its results, or that one is in progress', async () => {
    const finishedAt = new Date('2026-03-02T12:00:00Z')
    runChecks = () => server.store.saveCheckRun({ finishedAt, checks: [] })
    const made = await call('POST', '/checks/run')
    expect([made.status, made.body['finished_at_iso']]).toStrictEqual([200, '2026-03-02T12:00:00Z'])
    runChecks = async () => {
      throw new Problem('already_running', 'The checks are already running.')
    }
    assertProblem(await call('POST', '/checks/run'), 409, 'already_running')
  })

  test('that takes long returns the former results, and how far it is', async () => {
    await server.store.saveCheckRun({ finishedAt: new Date('2026-03-03T12:00:00Z'), checks: [] })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
      progress = undefined
    })
    const [started, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    runChecks = async () => {
      progress = { done: 3, all: 40 }
      started.resolve()
      await end.promise
    }
    const response = call('POST', '/checks/run')
    await started.promise
    await vi.advanceTimersByTimeAsync(20_000)
    const { status, body } = await response
    expect([status, body['finished_at_iso'], body['running']]).toStrictEqual([
      200,
      '2026-03-03T12:00:00Z',
      { done: 3, all: 40 },
    ])
    end.resolve()
  })

  test('is limited per client', async () => {
    runChecks = async () => {}
    const request = {
      method: 'POST',
      path: '/admin/api/checks/run',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'x-forwarded-for': newClient() },
    }
    for (let count = 0; count < 3; count += 1) {
      expect((await requestFrom(server.port, PROXY, request)).status).toBe(200)
    }
    assertProblem(await requestFrom(server.port, PROXY, request), 429, 'rate_limited')
  })
})

describe('Gmail accounts', () => {
  test('are listed, and switched off and on', async () => {
    await server.store.addAccount('joe@gmail.com' as Address)
    const [account] = await list('/accounts', 'accounts')
    expect([account?.['email'], account?.['offered'], account?.['hindrance']]).toStrictEqual([
      'joe@gmail.com',
      false,
      'not in the accounts file',
    ])
    const id = String(account?.['id'])
    for (const active of ['0', '1']) {
      expect((await call('POST', '/accounts/change', { id, active })).status).toBe(200)
      const [stored] = await server.store.listAccounts(server.now())
      expect(stored?.active).toBe(active === '1')
    }
  })

  test('with invalid values are refused', async () => {
    const unknown = await call('POST', '/accounts/change', { id: '99', active: '1' })
    assertProblem(unknown, 404, 'not_found')
    await assertRefused([
      ['/accounts/change', {}, /^id: /],
      ['/accounts/change', { id: 'x', active: '1' }, /^id: /],
      ['/accounts/change', { id: '1', active: 'x' }, /^active: /],
    ])
  })
})
