import assert from 'node:assert/strict'
import { beforeAll, describe, test } from 'vitest'
import { type App, sharedApp } from '../../../test/support/app.ts'
import { request } from '../../../test/support/http-client.ts'
import { assetRoutes } from './assets.ts'

let app: App
let script: string
beforeAll(async () => {
  app = await sharedApp()
  const { text } = await request(`${app.url}/`)
  script = /<link rel="modulepreload" href="([^"]+)"/.exec(text)?.[1] ?? ''
})

const getScript = async (coding: string) =>
  await request(`${app.url}${script}`, { headers: { 'accept-encoding': coding } })

describe('/assets/{name}', () => {
  describe('200', () => {
    test('a file with a hash in its name is cached as immutable', async () => {
      assert.match(script, /^\/assets\/[\w-]+-[\w-]{8}\.js$/)
      const { status, headers } = await request(`${app.url}${script}`)
      assert.equal(status, 200)
      assert.equal(headers.get('content-type'), 'text/javascript; charset=utf-8')
      assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable')
      assert.equal(headers.get('vary'), 'Accept-Encoding')
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
    })

    for (const [accepted, coding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
    ] as const) {
      test(`Accept-Encoding ${accepted} gets ${coding}: the same text in fewer bytes`, async () => {
        const [plain, compressed] = [await getScript('identity'), await getScript(accepted)]
        assert.equal(plain.headers.get('content-encoding'), null)
        assert.equal(compressed.headers.get('content-encoding'), coding)
        const [plainLength, compressedLength] = [plain, compressed].map(({ headers }) =>
          headers.get('content-length'),
        )
        assert.ok(Number(compressedLength) < Number(plainLength))
        assert.equal(compressed.text, plain.text)
      })
    }
  })

  describe('404', () => {
    for (const name of ['x.js', '..%2fsources', '%2e%2e%2f.vite%2fmanifest.json', 'constructor']) {
      test(`${name} is not a file of the build`, async () => {
        const { status, body } = await request(`${app.url}/assets/${name}`)
        assert.deepEqual([status, body['code']], [404, 'not_found'])
      })
    }
  })
})

for (const route of assetRoutes.slice(1)) {
  describe(route.path, () => {
    test('200: the icon is an SVG', async () => {
      const { status, headers } = await request(`${app.url}${route.path}`)
      assert.deepEqual([status, headers.get('content-type')], [200, 'image/svg+xml'])
    })
  })
}
