import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { request } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
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
  expect(made.status).toBe(200)
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
  expect([overview['fault'], overview['warnings']]).toStrictEqual([null, ['a warning']])
  const { stored_bytes: bytes, ...figures } = overview['figures'] as Fields
  const none = { all: 0, failing: 0 }
  expect(Number(bytes)).toBeGreaterThan(0)
  expect((figures['operator_mail'] as Fields)['messages']).toStrictEqual(1)
  expect([figures['sessions'], figures['gmail_accounts']]).toStrictEqual([1, none])
  expect(figures['webhooks']).toStrictEqual(none)
  expect(figures['checks']).toStrictEqual({ all: 3, failing: 1, warnings: 1 })
  expect(Number((figures['domains'] as Fields)['active'])).toBeGreaterThanOrEqual(1)
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
    expect([mails['kind'], mails['unit'], mails['step_seconds']]).toStrictEqual([
      'count',
      'count',
      60,
    ])
    const stored = lines.find(({ label }) => label === 'stored')?.values ?? []
    expect([stored.length, stored.slice(-3)]).toStrictEqual([60, [0, 3, 0]])
    const [sessions] = (await list('/series', 'lines', { name: 'sessions', range: '24h' })) as {
      values?: (number | null)[]
    }[]
    expect(sessions?.values?.length).toBe(288)
    expect(sessions?.values?.filter((value) => value === null).length).toBe(287)
    expect(await list('/series', 'lines', { name: 'latency', range: '30d' })).toStrictEqual([])

    expect((await read('/overview'))['series']).toStrictEqual([])
    const all = (await list('/overview', 'series', { range: '1h' })) as { name?: string }[]
    expect(all.length).toBe(9)
    const { status: _, ...alone } = mails
    expect(all[0]).toStrictEqual({ name: 'mails', ...alone })
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
    assertProblem(await call('GET', '/overview', { range: '2h' }), 400, 'invalid_parameter')
    assertProblem(await call('GET', '/series'), 400, 'missing_parameter')
  })
})

test('the overview shows sessions and bytes as last recorded, without counting them', async () => {
  const at = new Date(server.now().getTime() - 60_000)
  const counts = { sessions: { '': 70 }, stored_bytes: { '': 7_000 } }
  await server.store.saveMinute({ at, node: 'one', counts })
  const { figures } = (await read('/overview')) as { figures: Fields }
  expect([figures['sessions'], figures['stored_bytes']]).toStrictEqual([70, 7_000])
})

describe('domains', () => {
  const find = async (name: string) =>
    (await list('/domains', 'domains')).find((one) => one['name'] === name)

  test('are added, changed and removed', async () => {
    const added = await call('POST', '/domains', { name: 'New.Test', ttl: '2h', reader: '0' })
    expect(added.status).toBe(200)
    const { id, ...rest } = (await find('new.test')) ?? {}
    expect((added.body['domain'] as Fields)['id']).toStrictEqual(id)
    const state = { name: 'new.test', active: true, removed: false, sessions: true, reader: false }
    expect(rest).toStrictEqual({ ...state, ttl: '2h' })
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
      expect(status).toBe(200)
      expect({ ...(body['domain'] as Fields), ...expected }).toStrictEqual(body['domain'])
    }
    const changed = await call('POST', '/domains/change', { name: 'new.test', active: '1' })
    assertProblem(changed, 404, 'not_found')
    const again = await call('POST', '/domains', { name: 'new.test' })
    expect((again.body['domain'] as Fields)['id']).toStrictEqual(id)
  })

  test('a wildcard is added without the pool', async () => {
    const added = await call('POST', '/domains', { name: '*.New.Test' })
    expect(added.body['domain']).toMatchObject({
      name: '*.new.test',
      sessions: true,
      reader: false,
    })
    expect(
      (await call('POST', '/domains/change', { name: '*.new.test', removed: '1' })).status,
    ).toBe(200)
  })

  test('with invalid values are refused', async () => {
    await assertRefused([
      ['/domains', {}, /^name: /],
      ['/domains', { name: 'nodot' }, /^name: "nodot" is not a domain name/],
      ['/domains', { name: 'a b.test' }, /^name: /],
      ['/domains', { name: 'box.test' }, /already exists/],
      ['/domains', { name: 'x.test', ttl: '1' }, /^ttl: must be from 1m/],
      ['/domains', { name: '*.x.test', reader: '1' }, /^reader: add \*\.x\.test .*_READER_DOMAINS/],
      ['/domains/change', { name: '*.x.test', reader: '1' }, /^reader: /],
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
    expect(others).toStrictEqual([])
    const { created_at: _created, created_at_iso: _, ...rest } = found ?? {}
    const { expires_at: _expires, expires_at_iso: _iso, bytes, ...fields } = rest
    expect(fields).toStrictEqual({ email, messages: 1, key: false })
    expect(Number(bytes)).toBeGreaterThan(0)
    expect(await list('/sessions', 'sessions', { address: 'nobody@box.test' })).toStrictEqual([])
    const second = 'second@box.test'
    expect(await pages('/sessions', 'sessions', 'email')).toStrictEqual([
      [second],
      [email],
      ['counted@box.test'],
    ])
    const largest = await pages('/sessions', 'sessions', 'email', { order: 'largest' })
    expect(largest).toStrictEqual([[email], [second], ['counted@box.test']])
    expect(returned.join()).not.toContain(token)
  })

  test('are ended, which their readers see at once', async () => {
    const { email, token } = await session('bob')
    const check = (more = '') => request(`${server.url}/api/check-mail?token=${token}${more}`)
    const waiting = check('&wait=55')
    while (server.subscriptions() === 0) await new Promise(setImmediate)
    const ended = await call('POST', '/sessions/end', { address: email })
    expect((ended.body['session'] as Fields)['email']).toBe(email)
    expect((await waiting).status).toBe(401)
    expect((await check()).status).toBe(401)
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
    expect(messages.map(({ subject }) => subject)).toStrictEqual(['three', 'two', 'one'])
    const [{ id = 0, to, sender_email: sender } = {}] = messages
    expect([to, sender]).toStrictEqual(['postmaster@box.test', 'ann@sender.test'])
    expect(await pages('/mail', 'messages', 'subject')).toStrictEqual([['three'], ['two'], ['one']])
    const { message } = (await read(`/mail/${id}`)) as { message: Fields }
    expect(String(message['text'])).toMatch(/<b>hi<\/b>$/)
    expect('html' in message).toBe(false)
    const raw = await call('GET', `/mail/${id}/raw`)
    expect(raw.text).toMatch(/^Return-Path: .*\r\nSubject: three\r\n\r\n<b>hi<\/b>$/s)
    expect(raw.headers.get('content-type') ?? '').toMatch(/^message\/rfc822/)
    expect(raw.headers.get('content-disposition') ?? '').toMatch(/^attachment;/)

    expect((await call('POST', '/mail/delete', { id: `${id}` })).body['deleted']).toStrictEqual(1)
    assertProblem(await call('GET', `/mail/${id}`), 404, 'message_not_found')
    assertProblem(await call('POST', '/mail/delete', { id: `${id}` }), 404, 'message_not_found')
    await server.mail('postmaster@box.test', 'Subject: unseen\r\n\r\n')
    const upToId = { all: '1', up_to_id: `${id}` }
    expect((await call('POST', '/mail/delete', upToId)).body['deleted']).toStrictEqual(2)
    expect((await list('/mail', 'messages')).map(({ subject }) => subject)).toStrictEqual([
      'unseen',
    ])
  })

  test('has the live sessions of addresses that it names, at most 20', async () => {
    const { email } = await session('named')
    const others = Array.from({ length: 30 }, (_, at) => `nobody${at}@box.test`)
    const sessionsIn = async (text: string) => {
      await server.mail('abuse@box.test', `Subject: report\r\n\r\n${text}\r\n`)
      const [{ id = 0 } = {}] = await list('/mail', 'messages')
      return ((await read(`/mail/${id}`))['sessions'] as Fields[]).map((one) => one['email'])
    }
    for (const text of [`Spam by ${email}.`, `<MAILTO:NAMED@Box.Test>`, `${email}\r\n${email}`]) {
      expect(await sessionsIn(text), text).toStrictEqual([email])
    }
    for (const text of ['none', '@', `@${email}`.replace('named', '@'), 'named@other.test']) {
      expect(await sessionsIn(text), text).toStrictEqual([])
    }
    expect(await sessionsIn([...others, email].join(' '))).toStrictEqual([])
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
      expect(await server.mail(to, raw)).toMatchObject({ outcome: 'stored' })
    }
    const { id: mailbox } = (await server.store.findRecipient(email as Address)).session ?? {}
    const pool = await server.store.listMessages(POOL, { sinceId: 0, limit: 10 })
    const own = await server.store.listMessages(mailbox ?? POOL, { sinceId: 0, limit: 10 })
    expect([pool.length, own.length]).toStrictEqual([1, 1])
    for (const { id } of [...pool, ...own]) {
      for (const path of [`/mail/${id}`, `/mail/${id}/raw`]) {
        assertProblem(await call('GET', path), 404, 'message_not_found')
      }
      assertProblem(await call('POST', '/mail/delete', { id: `${id}` }), 404, 'message_not_found')
    }
    await call('POST', '/mail/delete', ALL)
    const mine = await request(`${server.url}/api/check-mail?token=${token}`)
    expect((mine.body['messages'] as unknown[]).length).toBe(1)
  })

  test('that a session got too is deleted for the operator alone', async () => {
    const { email, token } = await session('both')
    const recipients = [email, 'postmaster@box.test']
    expect(await server.mail(recipients, 'Subject: for both\r\n\r\nhello')).toMatchObject({
      outcome: 'stored',
    })
    const check = await request(`${server.url}/api/check-mail?token=${token}`)
    const [{ id: own = 0 } = {}] = check.body['messages'] as { id: number }[]
    const [{ id, subject } = {}] = await list('/mail', 'messages')
    expect(subject).toBe('for both')
    assertProblem(await call('GET', `/mail/${own}`), 404, 'message_not_found')
    assertProblem(await call('POST', '/mail/delete', { id: `${own}` }), 404, 'message_not_found')
    expect((await call('POST', '/mail/delete', { id: `${id}` })).status).toBe(200)
    const read = await request(`${server.url}/api/read-mail?token=${token}&id=${own}`)
    expect(read.status).toBe(200)
    expect(read.text).toMatch(/hello/)
  })
})

test('no response contained the mail of a session or of the pool', () => {
  expect(returned.length).toBeGreaterThan(40)
  expect(returned.join()).not.toContain(CANARY)
})
