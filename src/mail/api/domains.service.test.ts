import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp } from '../../../test/support/app.ts'
import { request } from '../../../test/support/http-client.ts'
import { PROXY_ENV } from '../../../test/support/trusted-proxy.ts'
import { parseHost } from '../../base/address.ts'
import { openMailStoreForCli } from '../../runtime/stores.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ env: PROXY_ENV })
})
afterAll(() => app.stop())

const list = async () => (await request(`${app.url}/api/domains`)).body

describe('200', () => {
  test('every active domain is listed with its id, and no Gmail account if none is configured', async () => {
    assert.deepEqual(await list(), {
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
    assert.ok(name)
    const store = await openMailStoreForCli(app.config)
    await store.changeDomain(name, { active: false })
    assert.deepEqual((await list())['domains'], [{ id: 2, domain: 'pool.test' }])
    await store.changeDomain(name, { active: true })
    assert.equal(((await list())['domains'] as unknown[]).length, 2)
    await store.close()
  })

  test('HEAD returns the headers of GET without the body', async () => {
    const [got, head] = await Promise.all([
      request(`${app.url}/api/domains`),
      request(`${app.url}/api/domains`, { method: 'HEAD' }),
    ])
    assert.equal(head.status, 200)
    assert.equal(head.text, '')
    assert.equal(head.headers.get('content-length'), got.headers.get('content-length'))
  })

  test('unknown parameters are ignored', async () => {
    assert.equal((await request(`${app.url}/api/domains?t=1&t=2&x[]=3`)).status, 200)
  })

  test('every response forbids sniffing, framing and referrers', async () => {
    const { headers } = await request(`${app.url}/api/domains`)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
    assert.equal(headers.get('access-control-allow-origin'), '*')
    assert.match(headers.get('access-control-expose-headers') ?? '', /ETag/)
  })
})
