import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import { ENCODINGS, post, postJson, request } from '../../../test/kit/http/http-client.ts'
import { openKeyRing } from '../../../test/kit/shop/keys.ts'

let app: App
let key: Record<string, string>
let token: string
beforeAll(async () => {
  app = await sharedApp()
  const ring = await openKeyRing(app)
  key = (await ring.issue()).headers
  await ring.close()
  token = (await app.session()).token
})

const ignored = ({ headers }: { headers: Headers }) => headers.get('x-ignored-parameters')

describe('parameters that an endpoint does not know are named', () => {
  for (const [query, expected] of [
    ['', null],
    ['limit=5', null],
    ['domain=a&colour=b', 'domain, colour'],
    ['domain=a&domain=b&domain[]=c', 'domain'],
    ['prefix=', 'prefix'],
    ['t=1&force=1&_=2', null],
    ['t=1&T=1', 'T'],
    ['a.b=1&a-b=1&_x=1', 'a.b, a-b, _x'],
    [`${'x'.repeat(31)}=1`, 'x'.repeat(31)],
    ['1a=1&-a=1&a%20b=1&a%0d%0aX=1&%C3%A9=1&=1&%2C=1', null],
    [`${'x'.repeat(33)}=1`, null],
    [`${'x'.repeat(32)}=1`, null],
    ['mf_live_abc=1&whsec_abc=1&a.mf_test_b=1', null],
    [
      Array.from({ length: 20 }, (_, at) => `n${at}`).join('&'),
      'n0, n1, n2, n3, n4, n5, n6, n7, n8, n9',
    ],
  ] as const) {
    test(`${query.slice(0, 40)}: ${expected}`, async () => {
      const response = await request(`${app.url}/api/check-mail?token=${token}&${query}`)
      expect(response.status, response.text).toBe(200)
      expect(ignored(response)).toBe(expected)
    })
  }

  test('in every encoding, and in query and body', async () => {
    for (const encoding of ENCODINGS) {
      const made = await post(`${app.url}/api/create-session`, { colour: 'a', ttl: '60' }, encoding)
      expect([made.status, ignored(made)], encoding).toStrictEqual([200, 'colour'])
    }
    const made = await postJson(`${app.url}/api/create-session?name=a`, '{"colour":"b","name":1}')
    expect(ignored(made)).toBe('name, colour')
  })

  test('in a refusal', async () => {
    const { status, ...response } = await request(`${app.url}/api/read-mail?message_id=1`)
    expect([status, ignored(response)]).toStrictEqual([400, 'message_id'])
  })

  test('with a key, readable by pages of other origins, and beside the quota', async () => {
    const response = await request(`${app.url}/emails?address=a`, { headers: key })
    expect(ignored(response)).toBe('address')
    expect(response.headers.get('ratelimit')).not.toBe(null)
    const open = await request(`${app.url}/api/domains?a=1`)
    expect(ignored(open)).toBe('a')
    const exposed = open.headers.get('access-control-expose-headers') ?? ''
    expect(exposed.split(', '), exposed).toContain('X-Ignored-Parameters')
  })
})

test('a cached response does not name those of another request', async () => {
  const poll = (query: string, headers = {}) =>
    request(`${app.url}/api/check-mail?token=${token}${query}`, { headers })
  for (const [query, expected] of [
    ['', null],
    ['&one=1', 'one'],
    ['', null],
    ['&two=1', 'two'],
  ] as const) {
    const response = await poll(query)
    expect(ignored(response)).toBe(expected)
    const etag = response.headers.get('etag') ?? ''
    const unchanged = await poll(query, { 'if-none-match': etag })
    expect([unchanged.status, ignored(unchanged)]).toStrictEqual([304, expected])
  }
})

test('pages, health checks and /mcp name none', async () => {
  for (const path of ['/', '/plain', '/docs', '/livez', '/readyz', '/nothing']) {
    expect(ignored(await request(`${app.url}${path}?colour=1`)), path).toBe(null)
  }
  expect(ignored(await postJson(`${app.url}/mcp?colour=1`, '{"colour":1}'))).toBe(null)
})
