import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkMail, openEventStream } from '../../../test/kit/http/api-client.ts'
import { post, problemFault, request } from '../../../test/kit/http/http-client.ts'
import { type AppWithKeys, sharedAppWithKeys, type TestKey } from '../../../test/kit/shop/keys.ts'

let app: AppWithKeys
beforeAll(async () => {
  app = await sharedAppWithKeys()
})
afterAll(() => app.stop())

const DAY = 86_400

type Holder = Pick<TestKey, 'headers'>

const list = ({ headers }: Holder, query = '') =>
  request(`${app.url}/sessions${query}`, { headers })
const end = (key: Holder, email: string) =>
  post(`${app.url}/sessions/end`, { email }, 'form', key.headers)
const roll = (key: Holder, email: string) =>
  post(`${app.url}/sessions/roll-token`, { email }, 'form', key.headers)
const create = (key: Holder, params: Record<string, string> = {}) =>
  app.session(params, key.headers)
const check = async (token: string, query = '') =>
  (await request(`${app.url}/api/check-mail?token=${token}${query}`)).status

async function emailsOfKey(key: Holder, query = ''): Promise<string[]> {
  const { body } = await list(key, query)
  return (body['sessions'] as { email: string }[]).map(({ email }) => email)
}

describe('GET /sessions', () => {
  test('the live sessions of the key are listed, newest first, and nothing is charged', async () => {
    const key = await app.ring.issue()
    const plain = await create(key)
    const ruled = await create(key, { label: 'sign-up', only_from: 'shop.test' })
    const ended = await create(key)
    await post(`${app.url}/api/delete-session`, { token: ended.token })
    await create(await app.ring.issue())
    await app.session()
    expect(await app.mail(plain.email)).toBe(250)

    const { status, body, headers } = await list(key)
    expect(status).toBe(200)
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    const times = { created_at: time, created_at_iso: iso, expires_at: time, expires_at_iso: iso }
    expect(body).toStrictEqual({
      status: 'success',
      sessions: [
        {
          ...{ email: ruled.email, ...times, messages: 0, label: 'sign-up' },
          rules: { only_from: ['shop.test'], max_messages: null, refused: 0 },
        },
        { email: plain.email, ...times, messages: 1, label: null },
      ],
      next_cursor: null,
    })
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('link')).toBeNull()
    expect(await app.ring.used(key)).toBe(0)
  })

  test('pages follow each other by cursor and by Link', async () => {
    const key = await app.ring.issue()
    const emails: string[] = []
    for (let count = 0; count < 5; count += 1) emails.unshift((await create(key)).email)
    const pages: string[][] = []
    for (let query: string | undefined = '?limit=2'; query !== undefined; ) {
      pages.push(await emailsOfKey(key, query))
      const { body, headers } = await list(key, query)
      const next = body['next_cursor']
      const linked = /^<\/sessions(\?[^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
      expect(linked).toBe(next === null ? undefined : `?limit=2&cursor=${next}`)
      query = linked
    }
    expect(pages).toStrictEqual([emails.slice(0, 2), emails.slice(2, 4), emails.slice(4)])
  })

  test('an expired session is not listed', async () => {
    const key = await app.ring.issue()
    await create(key, { ttl: '60' })
    app.moveClock(61)
    expect(await emailsOfKey(key)).toStrictEqual([])
  })

  test('400: an invalid cursor or limit', async () => {
    const key = await app.ring.issue()
    for (const [query, name] of [
      ['cursor=x', 'cursor'],
      ['limit=0', 'limit'],
      ['limit=501', 'limit'],
    ] as const) {
      const { status, body } = await list(key, `?${query}`)
      expect([status, body['code']]).toStrictEqual([400, 'invalid_parameter'])
      expect(String(body['message'])).toMatch(new RegExp(`^${name}: `))
    }
  })
})

describe('POST /sessions/end', () => {
  test('ends the session: its token is invalid, and its mail is refused', async () => {
    const key = await app.ring.issue()
    const { email, token } = await create(key)
    const { status, body } = await end(key, email.toUpperCase())
    expect([status, body['message']]).toStrictEqual([200, 'Session deleted.'])
    expect(await check(token)).toBe(401)
    expect(await app.mail(email)).toBe(550)
    expect(await emailsOfKey(key)).toStrictEqual([])
    expect(await app.ring.used(key)).toBe(0)
  })
})

describe('POST /sessions/roll-token', () => {
  test('the new token reads the mailbox; the former one reads, extends and ends nothing', async () => {
    const key = await app.ring.issue()
    const { email, token } = await create(key)
    await app.mail(email)
    const { status, body } = await roll(key, email)
    expect(status).toBe(200)
    const names = ['status', 'email', 'token', 'expires_at', 'expires_at_iso']
    expect(Object.keys(body)).toStrictEqual(names)
    expect((await checkMail(app.url, String(body['token']))).length).toBe(1)
    expect(await check(token)).toBe(401)
    for (const name of ['extend-session', 'delete-session']) {
      const response = await post(`${app.url}/api/${name}`, { token })
      expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
    }
    expect(await app.ring.used(key)).toBe(0)
  })

  test('the former token does not revive the session; the new one does', async () => {
    const key = await app.ring.issue()
    const { email, token } = await create(key, { ttl: '60' })
    const { body } = await roll(key, email)
    app.moveClock(61)
    const extend = async (by: string) =>
      (await post(`${app.url}/api/extend-session`, { token: by })).status
    expect([await extend(token), await extend(String(body['token']))]).toStrictEqual([401, 200])
  })

  test('open streams and waits of the former token end', async () => {
    const key = await app.ring.issue()
    const { email, token } = await create(key)
    const stream = await openEventStream(app.url, token)
    await stream.waitFor(/^id: /m)
    const waiting = check(token, '&wait=55')
    const tagged = await request(`${app.url}/api/check-mail?token=${token}`)
    const etag = tagged.headers.get('etag') ?? ''
    const unchanged = request(`${app.url}/api/check-mail?token=${token}&wait=55`, {
      headers: { 'if-none-match': etag },
    })
    await roll(key, email)
    await stream.waitForEnd()
    expect(stream.received()).toMatch(/event: end\ndata: \{"reason":"deleted"\}/)
    expect([await waiting, (await unchanged).status]).toStrictEqual([401, 401])
  })

  test('of concurrent requests, the last one has the only valid token', async () => {
    const key = await app.ring.issue()
    const { email } = await create(key)
    const rolled = await Promise.all(Array.from({ length: 8 }, () => roll(key, email)))
    const statuses = await Promise.all(rolled.map(({ body }) => check(String(body['token']))))
    expect(statuses.toSorted()).toStrictEqual([200, ...Array(7).fill(401)])
  })
})

describe('other keys', () => {
  test('404: the session of another key, of none, or an ended one, like an unknown address', async () => {
    const [key, other] = [await app.ring.issue(), await app.ring.issue()]
    const [theirs, nobodys, ended] = [await create(other), await app.session(), await create(key)]
    await end(key, ended.email)
    const emails = ['unknown@box.test', theirs.email, nobodys.email, ended.email]
    for (const act of [end, roll]) {
      const responses = []
      for (const email of emails) responses.push(await act(key, email))
      for (const response of responses) {
        expect([response.status, response.body['code']]).toStrictEqual([404, 'session_not_found'])
        expect(response.body['message']).toBe(responses[0]?.body['message'])
        expect([...response.headers.keys()]).toStrictEqual([
          ...(responses[0]?.headers.keys() ?? []),
        ])
        expect(problemFault(response)).toBeUndefined()
      }
    }
    expect([await check(theirs.token), await check(nobodys.token)]).toStrictEqual([200, 200])
    expect(await emailsOfKey(key)).toStrictEqual([])
    expect(await emailsOfKey(other)).toStrictEqual([theirs.email])
  })

  test('400: a missing or malformed email', async () => {
    const key = await app.ring.issue()
    for (const act of [end, roll]) {
      expect((await act(key, '')).body['code']).toBe('missing_parameter')
      expect((await act(key, 'not an address')).body['code']).toBe('invalid_parameter')
    }
  })
})

describe('keys that /emails refuses', () => {
  test('401: a missing, wrong, revoked or stopped key', async () => {
    const revoked = await app.ring.issue()
    const { email, token } = await create(revoked)
    await app.ring.shop.revokeKey(revoked.id)
    const stopped = await app.ring.issueRefunded()
    for (const key of [{ headers: {} }, { headers: { apikey: 'x' } }, revoked, stopped]) {
      for (const response of [await list(key), await end(key, email), await roll(key, email)]) {
        expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_key'])
      }
    }
    expect(await check(token)).toBe(200)
  })

  test('402: a used-up or expired key lists and ends sessions, but gets no new token', async () => {
    const usedUp = await app.ring.issue({ requests: 1 })
    const expired = await app.ring.issue({ months: 1 })
    app.moveClock(20 * DAY)
    const sessions = []
    for (const key of [usedUp, expired]) sessions.push(await create(key, { ttl: `${20 * DAY}` }))
    expect((await request(`${app.url}/emails`, { headers: usedUp.headers })).status).toBe(200)
    app.moveClock(12 * DAY)
    for (const [at, [key, code]] of [
      [usedUp, 'quota_exhausted'] as const,
      [expired, 'plan_expired'] as const,
    ].entries()) {
      const { email = '' } = sessions[at] ?? {}
      const rolled = await roll(key, email)
      expect([rolled.status, rolled.body['code']]).toStrictEqual([402, code])
      expect(await emailsOfKey(key)).toStrictEqual([email])
      expect((await end(key, email)).status).toBe(200)
    }
  })
})
