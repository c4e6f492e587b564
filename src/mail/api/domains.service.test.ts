import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../../test/kit/app/app.ts'
import { request } from '../../../test/kit/http/http-client.ts'
import { PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { parseHost, parseMailDomain } from '../../base/address.ts'
import { openMailStoreForCli } from '../../runtime/stores.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ env: PROXY_ENV })
})
afterAll(() => app.stop())

const list = async () => (await request(`${app.url}/api/domains`)).body

describe('200', () => {
  test('every active domain is listed with its id, and no Gmail account if none is configured', async () => {
    expect(await list()).toStrictEqual({
      status: 'success',
      domains: [
        { id: 1, domain: 'box.test' },
        { id: 2, domain: 'pool.test' },
      ],
      gmail_accounts: [],
    })
  })

  test('a deactivated domain is not listed until it is activated again', async () => {
    const name = parseHost('box.test')
    expect.assert(name)
    const store = await openMailStoreForCli(app.config)
    await store.changeDomain(name, { active: false })
    expect((await list())['domains']).toStrictEqual([{ id: 2, domain: 'pool.test' }])
    await store.changeDomain(name, { active: true })
    expect(((await list())['domains'] as unknown[]).length).toBe(2)
    await store.close()
  })

  test('a wildcard domain is listed with its name', async () => {
    const name = parseMailDomain('*.box.test')
    expect.assert(name)
    const store = await openMailStoreForCli(app.config)
    const options = { sessions: true, reader: false, ttlSeconds: undefined }
    const added = await store.addDomain({ name, ...options })
    expect((await list())['domains']).toContainEqual({
      ...{ id: added?.id, domain: 'box.test', wildcard: true },
    })
    const subdomain = await app.session({ domain: 'box.test', subdomain: 'team' })
    expect(subdomain.email).toMatch(/@team\.box\.test$/)
    await store.changeDomain(name, { removed: true })
    await store.close()
  })

  test('HEAD returns the headers of GET without the body', async () => {
    const [got, head] = await Promise.all([
      request(`${app.url}/api/domains`),
      request(`${app.url}/api/domains`, { method: 'HEAD' }),
    ])
    expect(head.status).toBe(200)
    expect(head.text).toBe('')
    expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'))
  })

  test('unknown parameters are ignored', async () => {
    expect((await request(`${app.url}/api/domains?t=1&t=2&x[]=3`)).status).toBe(200)
  })

  test('every response forbids sniffing, framing and referrers', async () => {
    const { headers } = await request(`${app.url}/api/domains`)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('content-security-policy') ?? '').toMatch(/frame-ancestors 'none'/)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-expose-headers') ?? '').toMatch(/ETag/)
  })
})
