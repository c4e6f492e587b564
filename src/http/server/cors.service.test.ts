import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { request } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { keyRing } from '../../../test/kit/shop/keys.ts'

const PAGE = 'https://page.test'
const EXPOSED = ['ETag', 'Link', 'RateLimit', 'Retry-After', 'X-Ignored-Parameters', 'X-Timed-Out']

/** Every kind of response of the keyed API to a cross-origin request. */
async function responsesTo({ url, key }: { url: string; key: string }, origin: string) {
  const read = (more = {}, path = '/emails', method = 'GET') =>
    request(`${url}${path}`, { method, headers: { origin, apikey: key, ...more } })
  return [
    ['200', await read()],
    ['304', await read({ 'if-none-match': '*' })],
    ['400', await read({}, '/emails?limit=0')],
    ['401', await read({ apikey: 'wrong' })],
    ['405', await read({}, '/emails', 'PUT')],
    ['usage', await read({}, '/usage')],
    ['preflight', await read({ 'access-control-request-method': 'GET' }, '/emails', 'OPTIONS')],
  ] as const
}

for (const [setting, allowed, forbidden] of [
  ['', [], [PAGE, 'null']],
  [
    PAGE,
    [PAGE],
    [
      'https://page.test.evil',
      'https://evil.test',
      'http://page.test',
      'https://sub.page.test',
      'null',
    ],
  ],
  ['*', [PAGE, 'https://evil.test', 'null'], []],
] as const) {
  describe(`MAYFLY_READER_ORIGINS=${setting}`, () => {
    let app: TestServer
    let key: string
    beforeAll(async () => {
      app = await openTestServer({ env: { MAYFLY_READER_ORIGINS: setting } })
      key = (await keyRing(app.shop, app.now).issue()).secret
    })
    afterAll(() => app.stop())

    for (const origin of allowed) {
      test(`${origin} may read every response, without credentials`, async () => {
        for (const [name, { headers }] of await responsesTo({ url: app.url, key }, origin)) {
          expect(headers.get('access-control-allow-origin'), name).toBe(origin)
          expect(headers.get('access-control-allow-credentials'), name).toBe(null)
          expect(headers.get('vary'), name).toBe('Origin')
          for (const exposed of EXPOSED) {
            const list = headers.get('access-control-expose-headers')?.split(', ')
            expect(list?.includes(exposed), `${name}: ${exposed}`).toBeTruthy()
          }
        }
      })
    }

    for (const origin of forbidden) {
      test(`${origin} may read no response`, async () => {
        for (const [name, { headers }] of await responsesTo({ url: app.url, key }, origin)) {
          expect(headers.get('access-control-allow-origin'), name).toBe(null)
        }
      })
    }

    test('the public API is open to every origin', async () => {
      for (const path of ['/api/domains', '/api/plans']) {
        const { headers } = await request(`${app.url}${path}`, { headers: { origin: 'null' } })
        expect(headers.get('access-control-allow-origin'), path).toBe('*')
      }
    })

    test('a preflight allows the headers that carry keys, and those of password managers', async () => {
      const { headers } = await request(`${app.url}/emails`, { method: 'OPTIONS' })
      const list = headers.get('access-control-allow-headers')?.split(', ') ?? []
      const keys = ['APIKey', 'X-API-Key', 'Authorization']
      for (const name of [...keys, 'If-None-Match', 'X-Requested-With']) {
        expect(list, name).toContain(name)
      }
    })
  })
}
