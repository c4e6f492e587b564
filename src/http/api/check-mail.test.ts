import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp, WAIT_FOR_EXTRACTION } from '../../../test/support/app.ts'
import { post, problemFault, request, requestFrom } from '../../../test/support/http-client.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/support/trusted-proxy.ts'

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

/** A session with so many messages; newest first. */
async function filled(count: number) {
  const session = await app.session()
  for (let sent = 0; sent < count; sent += 1) await app.mail(session.email)
  return { ...session, ids: ids((await check(session.token)).body) }
}

describe('200', () => {
  test('an empty mailbox says whose it is and until when', async () => {
    const { email, token } = await app.session()
    const { body, headers } = await check(token)
    assert.deepEqual(Object.keys(body), [
      'status',
      'email',
      'expires_at',
      'expires_at_iso',
      'messages',
    ])
    assert.equal(body['email'], email)
    assert.deepEqual(body['messages'], [])
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.match(headers.get('etag') ?? '', /^W\/"[^"]+"$/)
  })

  test('a message has its sender, its subject and the second we took it', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    const [message] = (await check(token)).body['messages'] as Record<string, unknown>[]
    assert.ok(message)
    const { id, received_at: received, received_at_iso: iso, code: _code, ...rest } = message
    assert.deepEqual(rest, {
      sender_name: 'Ann Sender',
      sender_email: 'ann@sender.test',
      subject: 'Hello',
    })
    assert.ok(Number.isSafeInteger(id))
    assert.equal(iso, `${String(received).replace(' ', 'T')}Z`)
    assert.ok(Math.abs(Date.parse(String(iso)) - app.now().getTime()) < 30_000)
  })

  test('newest first; limit and since_id narrow it', async () => {
    const { token, ids: all } = await filled(3)
    assert.deepEqual(
      all,
      all.toSorted((a, b) => b - a),
    )
    assert.deepEqual(ids((await check(token, '&limit=2')).body), all.slice(0, 2))
    assert.deepEqual(ids((await check(token, `&since_id=${all[1]}`)).body), all.slice(0, 1))
    assert.deepEqual(ids((await check(token, `&since_id=${all[0]}`)).body), [])
  })

  test('full only when the mailbox takes no more', async () => {
    const { token } = await filled(2)
    assert.equal('full' in (await check(token)).body, false)
    const full = await filled(3)
    assert.equal((await check(full.token)).body['full'], true)
  })

  test('the token may come as Bearer, and what old clients add is ignored', async () => {
    const { token, email } = await app.session()
    const headers = { authorization: `bearer ${token}` }
    const asked = await request(`${app.url}/api/check-mail?t=1&t=2&force=1`, { headers })
    assert.equal(asked.body['email'], email)
  })

  test('a list that was kept is never shown again once something changed', async () => {
    const { email, token } = await app.session()
    for (let count = 0; count < 3; count += 1) {
      assert.equal(ids((await check(token)).body).length, count)
      assert.equal(ids((await check(token)).body).length, count)
      await app.mail(email)
    }
    const [newest] = ids((await check(token)).body)
    await post(`${app.url}/api/delete-mail`, { token, id: String(newest) })
    assert.equal(ids((await check(token)).body).length, 2)
    const { body } = await post(`${app.url}/api/extend-session`, { token, ttl: '7200' })
    assert.equal((await check(token)).body['expires_at'], body['expires_at'])
  })

  test('HEAD has the headers of GET', async () => {
    const { token } = await filled(1)
    const url = `${app.url}/api/check-mail?token=${token}`
    const [got, head] = [await request(url), await request(url, { method: 'HEAD' })]
    for (const name of ['etag', 'content-length', 'content-type']) {
      assert.equal(head.headers.get(name), got.headers.get(name))
    }
  })
})

describe('304', () => {
  test('as long as nothing changed, and not a moment longer', async () => {
    const { email, token } = await app.session()
    const etag = (await check(token)).headers.get('etag') ?? ''
    for (const tag of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const asked = await check(token, '', { 'if-none-match': tag })
      assert.deepEqual([asked.status, asked.text], [304, ''], tag)
      assert.equal(asked.headers.get('etag'), etag)
      assert.equal(asked.headers.get('cache-control'), 'no-store')
    }
    await app.mail(email)
    const changed = await check(token, '', { 'if-none-match': etag })
    assert.equal(changed.status, 200)
    assert.notEqual(changed.headers.get('etag'), etag)
  })

  test('a revived mailbox has no tag of its former life', async () => {
    const { token } = await filled(1)
    const etag = (await check(token)).headers.get('etag') ?? ''
    app.moveClock(86_400 + 60)
    await post(`${app.url}/api/extend-session`, { token })
    const asked = await check(token, '', { 'if-none-match': etag })
    assert.deepEqual([asked.status, asked.body['messages']], [200, []])
  })
})

describe('400', () => {
  test('no token', async () => {
    for (const query of ['', '?token=', '?TOKEN=x']) {
      const asked = await request(`${app.url}/api/check-mail${query}`)
      assert.deepEqual([asked.status, asked.body['code']], [400, 'missing_parameter'], query)
      assert.match(String(asked.body['message']), /^token: /)
      assert.equal(problemFault(asked), undefined)
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
    test(more, async () => {
      const { token } = await app.session()
      const asked = await check(token, `&${more}`)
      assert.deepEqual([asked.status, asked.body['code']], [400, 'invalid_parameter'])
      assert.match(String(asked.body['message']), new RegExp(`^${more.split('=')[0]}: `))
    })
  }
})

describe('401', () => {
  for (const [name, token] of [
    ['a token that nobody has', 'A'.repeat(43)],
    ['a token with padding', `${'A'.repeat(43)}=`],
    ['a token of the wrong length', 'A'.repeat(42)],
    ['text that is no token', "' or 1=1 --"],
  ] as const) {
    test(`${name} is unknown`, async () => {
      const asked = await check(encodeURIComponent(token))
      assert.deepEqual([asked.status, asked.body['code']], [401, 'invalid_token'])
      assert.equal(problemFault(asked), undefined)
      assert.equal(asked.headers.get('www-authenticate'), 'Bearer')
    })
  }

  test('a deleted session is unknown, an expired one is over', async () => {
    const [deleted, expired] = [await app.session(), await app.session({ ttl: '60' })]
    await post(`${app.url}/api/delete-session`, { token: deleted.token })
    app.moveClock(60)
    assert.equal((await check(deleted.token)).body['code'], 'invalid_token')
    const over = await check(expired.token)
    assert.deepEqual([over.status, over.body['code']], [401, 'session_expired'])
  })
})

describe('429', () => {
  test('the six hundred and first look of one token within a minute, from wherever', async () => {
    const { token } = await app.session()
    const path = `/api/check-mail?token=${token}`
    const look = (client: string) =>
      requestFrom(app.httpPort, PROXY, { path, headers: { 'x-forwarded-for': client } })
    const clients = Array.from({ length: 16 }, newClient)
    const started = app.now().getTime()
    let passed = 0
    for (let refused = 0; refused === 0; ) {
      const looks = await Promise.all(clients.map(look))
      refused = looks.filter(({ status }) => status === 429).length
      passed += looks.length - refused
    }
    // Ten grow back each second.
    const seconds = Math.ceil((app.now().getTime() - started) / 1_000)
    assert.ok(passed >= 600 && passed <= 600 + seconds * 10, `${passed} passed in ${seconds} s`)
    const own = await check(token)
    assert.equal(own.status, 200, 'loopback itself runs free')
  })
})
