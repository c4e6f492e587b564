import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest'
import { request, requestFrom } from '../../../test/support/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/support/http-server.ts'
import { PAGE_POLICY, policyFault } from '../../../test/support/page-policy.ts'
import { FAKE_SHOP } from '../../../test/support/shop-client.ts'
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
    assert.equal(response.headers.get('content-type'), 'application/manifest+json')
    const manifest = JSON.parse(response.text)
    const { name, start_url, display, lang, dir, icons } = manifest
    assert.deepEqual(
      [name, start_url, display, lang, dir],
      ['Mayfly', '/', 'standalone', 'ar', 'rtl'],
    )
    assert.deepEqual(
      icons.map(({ purpose }: { purpose?: string }) => purpose),
      [undefined, undefined, undefined, 'maskable'],
    )
    for (const { src, sizes, type } of icons) {
      const icon = await fetch(`${server.url}${src}`)
      assert.deepEqual([icon.status, icon.headers.get('content-type')], [200, type], src)
      if (type === 'image/png') assert.equal(pngSize(await icon.arrayBuffer()), sizes, src)
    }
    assert.equal((await get('/icons/other.png')).status, 404)
  })
})

/** From the IHDR chunk. */
function pngSize(bytes: ArrayBuffer): string {
  const view = new DataView(bytes)
  return `${view.getUint32(16)}x${view.getUint32(20)}`
}

test('/robots.txt names the sitemap, which lists the public pages', async () => {
  const robots = await get('/robots.txt')
  assert.match(robots.text, /^User-agent: \*\n/)
  assert.match(robots.text, /^Disallow: \/plain$/m)
  assert.match(robots.text, /^Sitemap: https:\/\/mail\.test\/sitemap\.xml$/m)
  const { text, headers } = await get('/sitemap.xml')
  assert.equal(headers.get('content-type'), 'application/xml; charset=utf-8')
  const listed = [...text.matchAll(/<loc>https:\/\/mail\.test(.*?)<\/loc>/g)].map(
    ([, path]) => path,
  )
  assert.deepEqual(listed, ['/', '/docs', '/pricing', '/key'])
  for (const path of listed) {
    const page = await get(path ?? '')
    assert.match(
      page.text,
      /<meta name="description" content="Get a disposable email address/,
      path,
    )
    assert.ok(
      page.text.includes(`<meta property="og:url" content="https://mail.test${path}">`),
      path,
    )
    assert.ok(page.text.includes('<link rel="manifest" href="/manifest.webmanifest">'), path)
    assert.doesNotMatch(page.text, /noindex/, path)
    assert.equal(page.headers.get('cache-control'), 'no-store', path)
  }
  for (const path of ['/leave', `/orders/ord_${'0'.repeat(22)}`, '/plain']) {
    assert.match((await get(path)).text, /<meta name="robots" content="noindex">/, path)
  }
})

test('the theme colours are the backgrounds of the pages', () => {
  const styles = new URL('../../../web/site/styles/colours.css', import.meta.url)
  const { light, dark } = THEME_COLOURS
  assert.ok(readFileSync(styles, 'utf8').includes(`--background: light-dark(${light}, ${dark});`))
})

describe('errors', () => {
  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

  for (const path of ['/nope', '/docs/x', '/orders/x', '/pay/x', '/assets/x.js', '/apis', '/%']) {
    test(`404: ${path} is a page for a browser, in its language`, async () => {
      const { status, text, headers } = await get(path, {
        accept: BROWSER,
        'accept-language': 'de',
      })
      assert.equal(status, 404)
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
      assert.equal(headers.get('content-security-policy'), PAGE_POLICY)
      assert.match(text, /<html lang="de"[\s\S]*<h1>Seite nicht gefunden<\/h1>[\s\S]*<a href="\/">/)
      assert.equal(policyFault(text), undefined)
      assert.match(headers.get('x-request-id') ?? '', /./)
    })
  }

  test('405: a page for a browser, too', async () => {
    const init = { method: 'POST', headers: { accept: BROWSER } }
    const { status, text, headers } = await request(`${server.url}/docs`, init)
    assert.deepEqual([status, headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])
    assert.match(text, /<h1>Invalid request<\/h1>/)
  })

  for (const accept of [
    '*/*',
    'application/json',
    'text/html;q=0, */*',
    'application/x-text/html',
  ]) {
    test(`404: JSON with Accept: ${accept}`, async () => {
      const { status, body } = await get('/nope', { accept })
      assert.deepEqual([status, body['code']], [404, 'not_found'])
    })
  }

  for (const path of [
    ...['/api', '/api/nope', '/api/orders/x', '/emails/x', '/usage/x', '/webhooks', '/webhooks/x'],
    ...['/mcp', '/mcp?x', '/admin/api/x', '//api/nope', '/API/nope', '/livez/x', '/metrics/x'],
  ]) {
    test(`JSON even for a browser: ${path}`, async () => {
      const { status, body } = await get(path, { accept: BROWSER })
      assert.equal(body['status'], 'error', String(status))
    })
  }
})

describe('/.well-known/mta-sts.txt', () => {
  const path = '/.well-known/mta-sts.txt'
  const settings = { MAYFLY_SMTP_HOSTNAME: 'mx.mail.test' }

  test('is the policy of the domain in Host, as mayfly doctor expects it', async () => {
    const enforcing = await openTestServer({ env: { ...settings, MAYFLY_MTA_STS: 'enforce' } })
    onTestFinished(enforcing.stop)
    for (const host of ['mta-sts.box.test', 'MTA-STS.Box.Test:443', 'mta-sts.box.test.:443']) {
      const { status, headers, text: body } = await requestFor(enforcing.url, host)
      assert.deepEqual([status, headers.get('content-type')], [200, 'text/plain; charset=utf-8'])
      const txt = { records: ['v=STSv1; id=1'] }
      const facts = {
        host: 'mx.mail.test',
        backups: [],
        setting: 'enforce',
        now: new Date(),
      } as const
      const policy = { status, body }
      assert.equal(evaluateMtaSts('box.test', txt, { ...facts, policy }).status, 'ok')
      assert.match(body, /^mode: enforce$/m)
    }
    for (const host of ['box.test', 'mta-sts.other.test', 'mta-sts.', 'mta-sts.sub.box.test'])
      assert.equal((await requestFor(enforcing.url, host)).status, 404, host)
  })

  test('is not found unless it is turned on', async () => {
    assert.equal((await requestFor(server.url, 'mta-sts.box.test')).status, 404)
  })

  const requestFor = (url: string, host: string) =>
    requestFrom(Number(new URL(url).port), '127.0.0.1', { path, headers: { host } })
})
