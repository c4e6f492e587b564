import assert from 'node:assert/strict'
import { beforeAll, describe, test } from 'vitest'
import { type App, sharedApp } from '../../../test/support/app.ts'
import { request, requestFrom, sendRaw } from '../../../test/support/http-client.ts'
import { PAGE_POLICY, policyFault } from '../../../test/support/page-policy.ts'
import { PROXY } from '../../../test/support/trusted-proxy.ts'
import { pageRoutes } from './app-pages.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

for (const route of pageRoutes) {
  describe(`GET ${route.path}`, () => {
    test('loads only files of the build', async () => {
      const { text, headers, status } = await request(`${app.url}${route.path}`)
      assert.equal(status, 200)
      assert.equal(policyFault(text), undefined)
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
    })
  })
}

test('the page offers no lifetime beyond the limit without a key', async () => {
  const { text } = await request(`${app.url}/`)
  const [, facts = ''] = /data-facts="([^"]*)"/.exec(text) ?? []
  assert.match(facts, /longest(?:&#34;|&quot;):604800\b/)
})

describe('/key', () => {
  test('allows no inline styles and no external images', async () => {
    const { headers } = await request(`${app.url}/key`)
    assert.equal(headers.get('content-security-policy'), PAGE_POLICY)
  })

  test('says what to do without a script', async () => {
    const { text } = await request(`${app.url}/key`)
    const [, notice = ''] = /<noscript>(.*?)<\/noscript>/s.exec(text) ?? []
    assert.match(notice, /JavaScript/)
    assert.ok(notice.includes(`${app.url}/usage`))
  })

  test('behind a trusted https proxy its samples use https, because they send the key', async () => {
    const options = { path: '/key', headers: { 'x-forwarded-proto': 'https' } }
    const { text } = await requestFrom(app.httpPort, PROXY, options)
    assert.ok(text.includes('https://mayfly.test/usage'))
    assert.ok(!text.includes('http://mayfly.test'))
    const untrusted = await requestFrom(app.httpPort, '127.0.0.1', options)
    assert.ok(untrusted.text.includes('http://mayfly.test/usage'))
  })

  test('an invalid Host header does not appear in the page', async () => {
    const hostileRequest = 'GET /key HTTP/1.1\r\nHost: x"><script>\r\nConnection: close\r\n\r\n'
    const response = await sendRaw(app.httpPort, hostileRequest)
    assert.ok(response.includes('http://HOST/usage'))
    assert.doesNotMatch(response, /x"><script>/)
  })
})
