import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp, WAIT_FOR_EXTRACTION } from '../../../test/kit/app/app.ts'
import { post, problemFault, request, requestFrom } from '../../../test/kit/http/http-client.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'

let app: App
beforeAll(async () => {
  app = await startApp({
    ...WAIT_FOR_EXTRACTION,
    env: { ...PROXY_ENV, MAYFLY_SESSION_MAX_MESSAGES: '3', MAYFLY_ADDRESS_COOLDOWN: '1h' },
  })
})
afterAll(() => app.stop())

const check = (token: string, more = '', headers: Record<string, string> = {}) =>
  request(`${app.url}/api/check-mail?token=${token}${more}`, { headers })
const ids = (body: Record<string, unknown>) =>
  (body['messages'] as { id: number }[]).map(({ id }) => id)

/** A session with this many messages, newest first. */
async function sessionWithMail(count: number) {
  const session = await app.session()
  for (let sent = 0; sent < count; sent += 1) await app.mail(session.email)
  return { ...session, ids: ids((await check(session.token)).body) }
}

describe('200', () => {
  test('an empty mailbox has its address and expiry', async () => {
    const { email, token } = await app.session()
    const { body, headers } = await check(token)
    expect(Object.keys(body)).toStrictEqual([
      'status',
      'email',
      'expires_at',
      'expires_at_iso',
      'messages',
    ])
    expect(body['email']).toBe(email)
    expect(body['messages']).toStrictEqual([])
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('etag') ?? '').toMatch(/^W\/"[^"]+"$/)
  })

  test('a message has its sender, subject and time of receipt', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    const [message] = (await check(token)).body['messages'] as Record<string, unknown>[]
    expect.assert(message)
    const { id, received_at: received, received_at_iso: iso, ...more } = message
    const { code: _code, preview: _preview, attachments: _attachments, ...rest } = more
    expect(rest).toStrictEqual({
      sender_name: 'Ann Sender',
      sender_email: 'ann@sender.test',
      subject: 'Hello',
    })
    expect(Number.isSafeInteger(id)).toBeTruthy()
    expect(iso).toBe(`${String(received).replace(' ', 'T')}Z`)
    expect(Math.abs(Date.parse(String(iso)) - app.now().getTime())).toBeLessThan(30_000)
  })

  test('messages are listed newest first, restricted by limit and since_id', async () => {
    const { token, ids: all } = await sessionWithMail(3)
    expect(all).toStrictEqual(all.toSorted((a, b) => b - a))
    expect(ids((await check(token, '&limit=2')).body)).toStrictEqual(all.slice(0, 2))
    expect(ids((await check(token, `&since_id=${all[1]}`)).body)).toStrictEqual(all.slice(0, 1))
    expect(ids((await check(token, `&since_id=${all[0]}`)).body)).toStrictEqual([])
  })

  test('full is present only if the mailbox is full', async () => {
    const { token } = await sessionWithMail(2)
    expect('full' in (await check(token)).body).toBe(false)
    const full = await sessionWithMail(3)
    expect((await check(full.token)).body['full']).toBe(true)
  })

  test('the token is accepted as Bearer, and parameters of old clients are ignored', async () => {
    const { token, email } = await app.session()
    const headers = { authorization: `bearer ${token}` }
    const response = await request(`${app.url}/api/check-mail?t=1&t=2&force=1`, { headers })
    expect(response.body['email']).toBe(email)
  })

  test('a cached list is not returned after a change', async () => {
    const { email, token } = await app.session()
    for (let count = 0; count < 3; count += 1) {
      expect(ids((await check(token)).body).length).toBe(count)
      expect(ids((await check(token)).body).length).toBe(count)
      await app.mail(email)
    }
    const [newest] = ids((await check(token)).body)
    await post(`${app.url}/api/delete-mail`, { token, id: String(newest) })
    expect(ids((await check(token)).body).length).toBe(2)
    const { body } = await post(`${app.url}/api/extend-session`, { token, ttl: '7200' })
    expect((await check(token)).body['expires_at']).toBe(body['expires_at'])
  })

  test('HEAD has the headers of GET', async () => {
    const { token } = await sessionWithMail(1)
    const url = `${app.url}/api/check-mail?token=${token}`
    const [got, head] = [await request(url), await request(url, { method: 'HEAD' })]
    for (const name of ['etag', 'content-length', 'content-type']) {
      expect(head.headers.get(name)).toBe(got.headers.get(name))
    }
  })
})

describe('304', () => {
  test('If-None-Match matches until the mailbox changes', async () => {
    const { email, token } = await app.session()
    const etag = (await check(token)).headers.get('etag') ?? ''
    for (const tag of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const response = await check(token, '', { 'if-none-match': tag })
      expect([response.status, response.text], tag).toStrictEqual([304, ''])
      expect(response.headers.get('etag')).toBe(etag)
      expect(response.headers.get('cache-control')).toBe('no-store')
    }
    await app.mail(email)
    const changed = await check(token, '', { 'if-none-match': etag })
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(etag)
  })

  test('an ETag from before a session was revived does not match', async () => {
    const { token } = await sessionWithMail(1)
    const etag = (await check(token)).headers.get('etag') ?? ''
    app.moveClock(86_400 + 60)
    await post(`${app.url}/api/extend-session`, { token })
    const response = await check(token, '', { 'if-none-match': etag })
    expect([response.status, response.body['messages']]).toStrictEqual([200, []])
  })
})

describe('400', () => {
  test('a missing token is refused', async () => {
    for (const query of ['', '?token=', '?TOKEN=x']) {
      const response = await request(`${app.url}/api/check-mail${query}`)
      expect([response.status, response.body['code']], query).toStrictEqual([
        400,
        'missing_parameter',
      ])
      expect(String(response.body['message'])).toMatch(/^token: /)
      expect(problemFault(response)).toBeUndefined()
    }
  })

  for (const more of [
    'limit=0',
    'limit=501',
    'limit=1.5',
    'limit=-1',
    'limit=%2B1',
    'limit=1e2',
    'limit=1&limit=1',
    'wait=56',
    'wait=x',
    'wait=-1',
    'since_id=9007199254740992',
    'since_id=0x1',
    'since_id=12345678901234567',
  ]) {
    test(`${more} is refused`, async () => {
      const { token } = await app.session()
      const response = await check(token, `&${more}`)
      expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
      expect(String(response.body['message'])).toMatch(new RegExp(`^${more.split('=')[0]}: `))
    })
  }
})

describe('401', () => {
  for (const [name, token] of [
    ['an unknown token', 'A'.repeat(43)],
    ['a token with padding', `${'A'.repeat(43)}=`],
    ['a token of the wrong length', 'A'.repeat(42)],
    ['text that is not a token', "' or 1=1 --"],
  ] as const) {
    test(`${name} is refused`, async () => {
      const response = await check(encodeURIComponent(token))
      expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
      expect(problemFault(response)).toBeUndefined()
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
    })
  }

  test('a deleted session is invalid_token, an expired one is session_expired', async () => {
    const [deleted, expired] = [await app.session(), await app.session({ ttl: '60' })]
    await post(`${app.url}/api/delete-session`, { token: deleted.token })
    app.moveClock(60)
    expect((await check(deleted.token)).body['code']).toBe('invalid_token')
    const expiredCheck = await check(expired.token)
    expect([expiredCheck.status, expiredCheck.body['code']]).toStrictEqual([401, 'session_expired'])
  })
})

describe('429', () => {
  test('a token allows 600 requests a minute, from any number of clients', async () => {
    const { token } = await app.session()
    const path = `/api/check-mail?token=${token}`
    const checkFrom = (client: string) =>
      requestFrom(app.httpPort, PROXY, { path, headers: { 'x-forwarded-for': client } })
    const clients = Array.from({ length: 16 }, newClient)
    const started = app.now().getTime()
    let passed = 0
    for (let refused = 0; refused === 0; ) {
      const responses = await Promise.all(clients.map(checkFrom))
      refused = responses.filter(({ status }) => status === 429).length
      passed += responses.length - refused
    }
    // Ten requests are regained each second.
    const seconds = Math.ceil((app.now().getTime() - started) / 1_000)
    expect(
      passed >= 600 && passed <= 600 + seconds * 10,
      `${passed} passed in ${seconds} s`,
    ).toBeTruthy()
    const own = await check(token)
    expect(own.status, 'loopback itself runs free').toBe(200)
  })
})
