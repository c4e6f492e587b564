import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { request, requestFrom } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { PAGE_POLICY, policyFault } from '../../../test/kit/http/page-policy.ts'
import { FAKE_SHOP } from '../../../test/kit/shop/shop-client.ts'
import { domainName } from '../../../test/kit/store/fixture.ts'
import { evaluateMtaSts } from '../../doctor/rules/tls-rules.ts'
import { THEME_COLOURS } from '../../shared/site.ts'

let server: TestServer
beforeAll(async () => {
  server = await openTestServer({ env: { ...FAKE_SHOP, MAYFLY_BASE_URL: 'https://mail.test' } })
})
afterAll(() => server.stop())

const get = (path: string, headers: Record<string, string> = {}) =>
  request(`${server.url}${path}`, { headers })

describe('/manifest.webmanifest', () => {
  test('is in the language of the browser, and its icons have the sizes that it names', async () => {
    const response = await get('/manifest.webmanifest', { 'accept-language': 'ar' })
    expect(response.headers.get('content-type')).toBe('application/manifest+json')
    const manifest = JSON.parse(response.text)
    const { name, start_url, display, lang, dir, icons } = manifest
    expect([name, start_url, display, lang, dir]).toStrictEqual([
      'Mayfly',
      '/',
      'standalone',
      'ar',
      'rtl',
    ])
    expect(icons.map(({ purpose }: { purpose?: string }) => purpose)).toStrictEqual([
      undefined,
      undefined,
      undefined,
      'maskable',
    ])
    for (const { src, sizes, type } of icons) {
      const icon = await fetch(`${server.url}${src}`)
      expect([icon.status, icon.headers.get('content-type')], src).toStrictEqual([200, type])
      if (type === 'image/png') expect(pngSize(await icon.arrayBuffer()), src).toBe(sizes)
    }
    expect((await get('/icons/other.png')).status).toBe(404)
  })
})

/** From the IHDR chunk. */
function pngSize(bytes: ArrayBuffer): string {
  const view = new DataView(bytes)
  return `${view.getUint32(16)}x${view.getUint32(20)}`
}

test('/robots.txt names the sitemap, which lists the public pages', async () => {
  const robots = await get('/robots.txt')
  expect(robots.text).toMatch(/^User-agent: \*\n/)
  expect(robots.text).toMatch(/^Disallow: \/plain$/m)
  expect(robots.text).toMatch(/^Sitemap: https:\/\/mail\.test\/sitemap\.xml$/m)
  const { text, headers } = await get('/sitemap.xml')
  expect(headers.get('content-type')).toBe('application/xml; charset=utf-8')
  const listed = [...text.matchAll(/<loc>https:\/\/mail\.test(.*?)<\/loc>/g)].map(
    ([, path]) => path,
  )
  expect(listed).toStrictEqual(['/', '/docs', '/docs/coming-from', '/pricing', '/key'])
  const titles = new Set()
  for (const path of listed) {
    const page = await get(path ?? '')
    const title = /<title>(.*)<\/title>/.exec(page.text)?.[1]
    titles.add(title)
    expect(page.text, path).toContain(`<meta property="og:title" content="${title}">`)
    expect(page.text, path).toMatch(
      /<meta name="description" content="Get a disposable email address/,
    )
    expect(page.text, path).toContain(`<meta property="og:url" content="https://mail.test${path}">`)
    expect(page.text, path).toContain('<link rel="manifest" href="/manifest.webmanifest">')
    expect(page.text, path).not.toMatch(/noindex/)
    expect(page.headers.get('cache-control'), path).toBe('no-store')
  }
  expect(titles.size).toBe(listed.length)
  expect(titles).toContain('Mayfly – disposable email, no sign-up')
  for (const path of ['/leave', `/orders/ord_${'0'.repeat(22)}`, '/plain']) {
    expect((await get(path)).text, path).toMatch(/<meta name="robots" content="noindex">/)
  }
})

test('the theme colours are the backgrounds of the pages', () => {
  const styles = new URL('../../../web/site/styles/colours.css', import.meta.url)
  const { light, dark } = THEME_COLOURS
  expect(readFileSync(styles, 'utf8')).toContain(`--background: light-dark(${light}, ${dark});`)
})

describe('errors', () => {
  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

  for (const path of ['/nope', '/docs/x', '/orders/x', '/pay/x', '/assets/x.js', '/apis', '/%']) {
    test(`404: ${path} is a page for a browser, in its language`, async () => {
      const { status, text, headers } = await get(path, {
        accept: BROWSER,
        'accept-language': 'de',
      })
      expect(status).toBe(404)
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(headers.get('content-security-policy')).toBe(PAGE_POLICY)
      expect(text).toMatch(
        /<html lang="de"[\s\S]*<h1>Seite nicht gefunden<\/h1>[\s\S]*<a href="\/">/,
      )
      expect(policyFault(text)).toBeUndefined()
      expect(text, 'an empty footer').not.toContain('<footer')
      expect(headers.get('x-request-id') ?? '').toMatch(/./)
    })
  }

  test('405: a page for a browser, too', async () => {
    const init = { method: 'POST', headers: { accept: BROWSER } }
    const { status, text, headers } = await request(`${server.url}/docs`, init)
    expect([status, headers.get('allow')]).toStrictEqual([405, 'GET, HEAD, OPTIONS'])
    expect(text).toMatch(/<h1>Invalid request<\/h1>/)
  })

  for (const accept of [
    '*/*',
    'application/json',
    'text/html;q=0, */*',
    'application/x-text/html',
  ]) {
    test(`404: JSON with Accept: ${accept}`, async () => {
      const { status, body } = await get('/nope', { accept })
      expect([status, body['code']]).toStrictEqual([404, 'not_found'])
    })
  }

  for (const path of [
    ...['/api', '/api/nope', '/api/orders/x', '/emails/x', '/usage/x', '/webhooks', '/webhooks/x'],
    ...['/mcp', '/mcp?x', '/admin/api/x', '//api/nope', '/API/nope', '/livez/x', '/metrics/x'],
  ]) {
    test(`JSON even for a browser: ${path}`, async () => {
      const { status, body } = await get(path, { accept: BROWSER })
      expect(body['status'], String(status)).toBe('error')
    })
  }
})

describe('/.well-known/mta-sts.txt', () => {
  const path = '/.well-known/mta-sts.txt'
  const settings = { MAYFLY_SMTP_HOSTNAME: 'mx.mail.test' }

  test('is the policy of the domain in Host, as mayfly doctor expects it', async () => {
    const enforcing = await openTestServer({ env: { ...settings, MAYFLY_MTA_STS: 'enforce' } })
    onTestFinished(enforcing.stop)
    const wild = { name: domainName('*.wild.test'), sessions: true, reader: false }
    await enforcing.store.addDomain({ ...wild, ttlSeconds: undefined })
    for (const host of ['mta-sts.box.test', 'MTA-STS.Box.Test:443', 'mta-sts.box.test.:443']) {
      const { status, headers, text: body } = await requestFor(enforcing.url, host)
      expect([status, headers.get('content-type')]).toStrictEqual([
        200,
        'text/plain; charset=utf-8',
      ])
      const txt = { records: ['v=STSv1; id=1'] }
      const facts = {
        host: 'mx.mail.test',
        backups: [],
        setting: 'enforce',
        now: new Date(),
      } as const
      const policy = { status, body }
      expect(evaluateMtaSts('box.test', txt, { ...facts, policy }).status).toBe('ok')
      expect(body).toMatch(/^mode: enforce$/m)
    }
    const others = ['box.test', 'mta-sts.other.test', 'mta-sts.', 'mta-sts.sub.box.test']
    for (const host of [...others, 'mta-sts.wild.test', 'mta-sts.a.wild.test'])
      expect((await requestFor(enforcing.url, host)).status, host).toBe(404)
  })

  test('is not found unless it is turned on', async () => {
    expect((await requestFor(server.url, 'mta-sts.box.test')).status).toBe(404)
  })

  const requestFor = (url: string, host: string) =>
    requestFrom(Number(new URL(url).port), '127.0.0.1', { path, headers: { host } })
})
