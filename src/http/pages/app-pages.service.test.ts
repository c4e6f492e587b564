import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import { request, requestFrom, sendRaw } from '../../../test/kit/http/http-client.ts'
import { PAGE_POLICY, policyFault } from '../../../test/kit/http/page-policy.ts'
import { PROXY } from '../../../test/kit/http/trusted-proxy.ts'
import { pageRoutes } from './app-pages.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

for (const route of pageRoutes) {
  describe(`GET ${route.path}`, () => {
    test('loads only files of the build', async () => {
      const { text, headers, status } = await request(`${app.url}${route.path}`)
      expect(status).toBe(200)
      expect(policyFault(text)).toBeUndefined()
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
    })
  })
}

test('the page offers no lifetime beyond the limit without a key', async () => {
  const { text } = await request(`${app.url}/`)
  const [, facts = ''] = /data-facts="([^"]*)"/.exec(text) ?? []
  expect(facts).toMatch(/longest(?:&#34;|&quot;):604800\b/)
})

describe('/key', () => {
  test('allows no inline styles and no external images', async () => {
    const { headers } = await request(`${app.url}/key`)
    expect(headers.get('content-security-policy')).toBe(PAGE_POLICY)
  })

  test('says what to do without a script', async () => {
    const { text } = await request(`${app.url}/key`)
    const [, notice = ''] = /<noscript>(.*?)<\/noscript>/s.exec(text) ?? []
    expect(notice).toMatch(/JavaScript/)
    expect(notice).toContain(`${app.url}/usage`)
  })

  test('behind a trusted https proxy its samples use https, because they send the key', async () => {
    const options = { path: '/key', headers: { 'x-forwarded-proto': 'https' } }
    const { text } = await requestFrom(app.httpPort, PROXY, options)
    expect(text).toContain('https://mayfly.test/usage')
    expect(text).not.toContain('http://mayfly.test')
    const untrusted = await requestFrom(app.httpPort, '127.0.0.1', options)
    expect(untrusted.text).toContain('http://mayfly.test/usage')
  })

  test('an invalid Host header does not appear in the page', async () => {
    const hostileRequest = 'GET /key HTTP/1.1\r\nHost: x"><script>\r\nConnection: close\r\n\r\n'
    const response = await sendRaw(app.httpPort, hostileRequest)
    expect(response).toContain('http://HOST/usage')
    expect(response).not.toMatch(/x"><script>/)
  })
})
