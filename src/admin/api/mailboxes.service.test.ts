import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { request } from '../../../test/support/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/support/http-server.ts'
import type { Address, Host } from '../../base/address.ts'
import { POOL } from '../../mail/rules/session.ts'
import { EMPTY_MAIL } from '../../shared/mail.ts'
import { ADMIN_TOKEN, adminClient, assertProblem, type Fields } from './testing/admin-client.ts'

const CANARY = 'canary of a mail'

// A minute of the series is complete some seconds after its end: tests start in the middle of one.
const toHalfMinute = 30_000 - (Date.now() % 60_000)

let server: TestServer
beforeAll(async () => {
  server = await openTestServer({
    env: { MAYFLY_ADMIN_TOKEN: ADMIN_TOKEN },
    now: () => new Date(Date.now() + toHalfMinute),
    warnings: ['a warning'],
    parse: async (raw) => ({ ...EMPTY_MAIL, text: Buffer.from(raw).toString() }),
  })
  const name = 'pool.test' as Host
  await server.store.addDomain({ name, sessions: true, reader: true, ttlSeconds: undefined })
})
afterAll(() => server.stop())

const { call, read, list, pages, assertRefused, returned } = adminClient(() => server.url)

async function session(prefix: string): Promise<{ email: string; token: string }> {
  const body = new URLSearchParams({ prefix, domain_id: '1' })
  const made = await request(`${server.url}/api/create-session`, { method: 'POST', body })
  assert.equal(made.status, 200)
  return made.body as { email: string; token: string }
}

test('the overview counts what is stored', async () => {
  await server.mail('abuse@box.test')
  await session('counted')
  const check = { name: 'mx', seen: '', fix: '', since: server.now() }
  const checks = (['failure', 'warning', 'ok', 'skipped'] as const).map((status) => ({
    ...check,
    status,
  }))
  await server.store.saveCheckRun({ finishedAt: server.now(), checks })
  const overview = await read('/overview')
  assert.deepEqual([overview['fault'], overview['warnings']], [null, ['a warning']])
  const { stored_bytes: bytes, ...figures } = overview['figures'] as Fields
  const none = { all: 0, failing: 0 }
  assert.ok(Number(bytes) > 0)
  assert.deepEqual((figures['operator_mail'] as Fields)['messages'], 1)
  assert.deepEqual([figures['sessions'], figures['gmail_accounts']], [1, none])
  assert.deepEqual(figures['webhooks'], none)
  assert.deepEqual(figures['checks'], { all: 3, failing: 1, warnings: 1 })
  assert.ok(Number((figures['domains'] as Fields)['active']) >= 1)
})

describe('series', () => {
  test('have a value per step of the range, null where nothing was recorded', async () => {
    const at = new Date(Math.floor(server.now().getTime() / 60_000) * 60_000 - 120_000)
    const counts = { mails: { stored: 3, refused: 1 } }
    await server.store.saveMinute({ at, node: 'one', counts })
    const earlier = new Date(at.getTime() - 1_200_000)
    await server.store.saveMinute({ at: earlier, node: 'one', counts: { sessions: { '': 7 } } })
    const mails = await read('/series', { name: 'mails', range: '1h' })
    const lines = mails['lines'] as { label: string; values: (number | null)[] }[]
    assert.deepEqual([mails['kind'], mails['unit'], mails['step_seconds']], ['count', 'count', 60])
    const stored = lines.find(({ label }) => label === 'stored')?.values ?? []
    assert.deepEqual([stored.length, stored.slice(-3)], [60, [0, 3, 0]])
    const [sessions] = (await list('/series', 'lines', { name: 'sessions', range: '24h' })) as {
      values?: (number | null)[]
    }[]
    assert.equal(sessions?.values?.length, 288)
    assert.equal(sessions?.values?.filter((value) => value === null).length, 287)
    assert.deepEqual(await list('/series', 'lines', { name: 'latency', range: '30d' }), [])
  })

  test('with an unknown name or range are refused', async () => {
    for (const values of [
      { name: 'nothing', range: '1h' },
      { name: '__proto__', range: '1h' },
      { name: 'mails', range: '2h' },
      { name: 'mails', range: 'constructor' },
    ]) {
      assertProblem(await call('GET', '/series', values), 400, 'invalid_parameter')
    }
    assertProblem(await call('GET', '/series'), 400, 'missing_parameter')
  })
})

test('the overview shows sessions and bytes as last recorded, without counting them', async () => {
  const at = new Date(server.now().getTime() - 60_000)
  const counts = { sessions: { '': 70 }, stored_bytes: { '': 7_000 } }
  await server.store.saveMinute({ at, node: 'one', counts })
  const { figures } = (await read('/overview')) as { figures: Fields }
  assert.deepEqual([figures['sessions'], figures['stored_bytes']], [70, 7_000])
})

describe('domains', () => {
  const find = async (name: string) =>
    (await list('/domains', 'domains')).find((one) => one['name'] === name)

  test('are added, changed and removed', async () => {
    const added = await call('POST', '/domains', { name: 'New.Test', ttl: '2h', reader: '0' })
    assert.equal(added.status, 200)
    const { id, ...rest } = (await find('new.test')) ?? {}
    assert.deepEqual((added.body['domain'] as Fields)['id'], id)
    const state = { name: 'new.test', active: true, removed: false, sessions: true, reader: false }
    assert.deepEqual(rest, { ...state, ttl: '2h' })
    for (const [change, expected] of [
      [{ active: '0' }, { active: false }],
      [{ reader: '1' }, { active: false, reader: true, ttl: '2h' }],
      [{ ttl: '15m' }, { ttl: '15m' }],
      [
        { ttl: 'default', active: '1' },
        { ttl: null, active: true },
      ],
      [{ sessions: '0' }, { sessions: false }],
      [{ removed: '1' }, { removed: true }],
    ] as const) {
      const { status, body } = await call('POST', '/domains/change', {
        name: 'new.test',
        ...change,
      })
      assert.equal(status, 200)
      assert.deepEqual({ ...(body['domain'] as Fields), ...expected }, body['domain'])
    }
    const changed = await call('POST', '/domains/change', { name: 'new.test', active: '1' })
    assertProblem(changed, 404, 'not_found')
    const again = await call('POST', '/domains', { name: 'new.test' })
    assert.deepEqual((again.body['domain'] as Fields)['id'], id)
  })

  test('with invalid values are refused', async () => {
    await assertRefused([
      ['/domains', {}, /^name: /],
      ['/domains', { name: 'nodot' }, /^name: this is not a domain name/],
      ['/domains', { name: 'a b.test' }, /^name: /],
      ['/domains', { name: 'box.test' }, /already exists/],
      ['/domains', { name: 'x.test', ttl: '1' }, /^ttl: must be from 1m/],
      ['/domains', { name: 'x.test', ttl: '59s' }, /^ttl: /],
      ['/domains/change', { name: 'box.test', removed: '0' }, /^removed: /],
      ['/domains/change', { name: 'box.test', active: 'maybe' }, /^active: /],
    ])
    assertProblem(
      await call('POST', '/domains/change', { name: 'no.test', active: '1' }),
      404,
      'not_found',
    )
  })
})

describe('sessions', () => {
  test('are found by address and listed, without token, key id or mail', async () => {
    const { email, token } = await session('ann')
    await session('second')
    await server.mail(email, `Subject: ${CANARY}\r\n\r\n${CANARY}\r\n`)
    const [found, ...others] = await list('/sessions', 'sessions', { address: ` ${email} ` })
    assert.deepEqual(others, [])
    const { created_at: _created, created_at_iso: _, ...rest } = found ?? {}
    const { expires_at: _expires, expires_at_iso: _iso, bytes, ...fields } = rest
    assert.deepEqual(fields, { email, messages: 1, key: false })
    assert.ok(Number(bytes) > 0)
    assert.deepEqual(await list('/sessions', 'sessions', { address: 'nobody@box.test' }), [])
    const second = 'second@box.test'
    assert.deepEqual(await pages('/sessions', 'sessions', 'email'), [
      [second],
      [email],
      ['counted@box.test'],
    ])
    const largest = await pages('/sessions', 'sessions', 'email', { order: 'largest' })
    assert.deepEqual(largest, [[email], [second], ['counted@box.test']])
    assert.ok(!returned.join().includes(token))
  })

  test('are ended, which their readers see at once', async () => {
    const { email, token } = await session('bob')
    const check = (more = '') => request(`${server.url}/api/check-mail?token=${token}${more}`)
    const waiting = check('&wait=55')
    while (server.subscriptions() === 0) await new Promise(setImmediate)
    const ended = await call('POST', '/sessions/end', { address: email })
    assert.equal((ended.body['session'] as Fields)['email'], email)
    assert.equal((await waiting).status, 401)
    assert.equal((await check()).status, 401)
    assertProblem(await call('POST', '/sessions/end', { address: email }), 404, 'not_found')
  })

  test('with invalid values are refused', async () => {
    await assertRefused([
      ['/sessions/end', {}, /^address: /],
      ['/sessions/end', { address: 'nobody' }, /^address: this is not an address/],
    ])
    for (const values of [{ address: '@' }, { order: 'oldest' }, { limit: '0' }] as const) {
      assertProblem(await call('GET', '/sessions', values), 400, 'invalid_parameter')
    }
  })
})

describe('operator mail', () => {
  const ALL = { all: '1', up_to_id: `${Number.MAX_SAFE_INTEGER}` }

  test('is listed newest first, read as text and deleted', async () => {
    await call('POST', '/mail/delete', ALL)
    for (const subject of ['one', 'two', 'three']) {
      const from = 'From: Ann <ann@sender.test>'
      await server.mail('postmaster@box.test', `${from}\r\nSubject: ${subject}\r\n\r\n<b>hi</b>`)
    }
    const messages = await list('/mail', 'messages')
    assert.deepEqual(
      messages.map(({ subject }) => subject),
      ['three', 'two', 'one'],
    )
    const [{ id = 0, to, sender_email: sender } = {}] = messages
    assert.deepEqual([to, sender], ['postmaster@box.test', 'ann@sender.test'])
    assert.deepEqual(await pages('/mail', 'messages', 'subject'), [['three'], ['two'], ['one']])
    const { message } = (await read(`/mail/${id}`)) as { message: Fields }
    assert.match(String(message['text']), /<b>hi<\/b>$/)
    assert.equal('html' in message, false)
    const raw = await call('GET', `/mail/${id}/raw`)
    assert.match(raw.text, /^Return-Path: .*\r\nSubject: three\r\n\r\n<b>hi<\/b>$/s)
    assert.match(raw.headers.get('content-type') ?? '', /^message\/rfc822/)
    assert.match(raw.headers.get('content-disposition') ?? '', /^attachment;/)

    assert.deepEqual((await call('POST', '/mail/delete', { id: `${id}` })).body['deleted'], 1)
    assertProblem(await call('GET', `/mail/${id}`), 404, 'message_not_found')
    assertProblem(await call('POST', '/mail/delete', { id: `${id}` }), 404, 'message_not_found')
    await server.mail('postmaster@box.test', 'Subject: unseen\r\n\r\n')
    const upToId = { all: '1', up_to_id: `${id}` }
    assert.deepEqual((await call('POST', '/mail/delete', upToId)).body['deleted'], 2)
    assert.deepEqual(
      (await list('/mail', 'messages')).map(({ subject }) => subject),
      ['unseen'],
    )
  })

  test('needs either an id or all', async () => {
    for (const values of [{}, { id: '1', ...ALL }, { all: '0' }, { all: '1' }, { id: 'x' }]) {
      assertProblem(
        await call('POST', '/mail/delete', values as Record<string, string>),
        400,
        'invalid_parameter',
      )
    }
    assertProblem(await call('GET', '/mail/x'), 400, 'invalid_parameter')
  })

  test('is all mail that can be read or deleted here: not that of sessions or the pool', async () => {
    const { email, token } = await session('private')
    for (const to of [email, 'someone@pool.test']) {
      const raw = `Subject: ${CANARY}\r\n\r\n${CANARY}\r\n`
      assert.equal(await server.mail(to, raw), 'stored')
    }
    const { id: mailbox } = (await server.store.findRecipient(email as Address)).session ?? {}
    const pool = await server.store.listMessages(POOL, { sinceId: 0, limit: 10 })
    const own = await server.store.listMessages(mailbox ?? POOL, { sinceId: 0, limit: 10 })
    assert.deepEqual([pool.length, own.length], [1, 1])
    for (const { id } of [...pool, ...own]) {
      for (const path of [`/mail/${id}`, `/mail/${id}/raw`]) {
        assertProblem(await call('GET', path), 404, 'message_not_found')
      }
      assertProblem(await call('POST', '/mail/delete', { id: `${id}` }), 404, 'message_not_found')
    }
    await call('POST', '/mail/delete', ALL)
    const mine = await request(`${server.url}/api/check-mail?token=${token}`)
    assert.equal((mine.body['messages'] as unknown[]).length, 1)
  })

  test('that a session got too is deleted for the operator alone', async () => {
    const { email, token } = await session('both')
    const recipients = [email, 'postmaster@box.test']
    assert.equal(await server.mail(recipients, 'Subject: for both\r\n\r\nhello'), 'stored')
    const check = await request(`${server.url}/api/check-mail?token=${token}`)
    const [{ id: own = 0 } = {}] = check.body['messages'] as { id: number }[]
    const [{ id, subject } = {}] = await list('/mail', 'messages')
    assert.equal(subject, 'for both')
    assertProblem(await call('GET', `/mail/${own}`), 404, 'message_not_found')
    assertProblem(await call('POST', '/mail/delete', { id: `${own}` }), 404, 'message_not_found')
    assert.equal((await call('POST', '/mail/delete', { id: `${id}` })).status, 200)
    const read = await request(`${server.url}/api/read-mail?token=${token}&id=${own}`)
    assert.equal(read.status, 200)
    assert.match(read.text, /hello/)
  })
})

test('no response contained the mail of a session or of the pool', () => {
  assert.ok(returned.length > 40)
  assert.ok(!returned.join().includes(CANARY))
})
