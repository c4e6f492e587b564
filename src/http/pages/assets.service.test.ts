import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import { request } from '../../../test/kit/http/http-client.ts'
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
      expect(script).toMatch(/^\/assets\/[\w-]+-[\w-]{8}\.js$/)
      const { status, headers } = await request(`${app.url}${script}`)
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8')
      expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(headers.get('vary')).toBe('Accept-Encoding')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    })

    for (const [accepted, coding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
    ] as const) {
      test(`Accept-Encoding ${accepted} gets ${coding}: the same text in fewer bytes`, async () => {
        const [plain, compressed] = [await getScript('identity'), await getScript(accepted)]
        expect(plain.headers.get('content-encoding')).toBe(null)
        expect(compressed.headers.get('content-encoding')).toBe(coding)
        const [plainLength, compressedLength] = [plain, compressed].map(({ headers }) =>
          headers.get('content-length'),
        )
        expect(Number(compressedLength)).toBeLessThan(Number(plainLength))
        expect(compressed.text).toBe(plain.text)
      })
    }
  })

  describe('404', () => {
    for (const name of ['x.js', '..%2fsources', '%2e%2e%2f.vite%2fmanifest.json', 'constructor']) {
      test(`${name} is not a file of the build`, async () => {
        const { status, body } = await request(`${app.url}/assets/${name}`)
        expect([status, body['code']]).toStrictEqual([404, 'not_found'])
      })
    }
  })
})

describe('/sw.js', () => {
  test('200: the service worker is a script that browsers request again at each visit', async () => {
    const { status, headers } = await request(`${app.url}/sw.js`)
    expect([status, headers.get('content-type')]).toStrictEqual([
      200,
      'text/javascript; charset=utf-8',
    ])
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'/)
  })
})

for (const route of assetRoutes.slice(2)) {
  describe(route.path, () => {
    test('200: the icon is an SVG', async () => {
      const { status, headers } = await request(`${app.url}${route.path}`)
      expect([status, headers.get('content-type')]).toStrictEqual([200, 'image/svg+xml'])
    })
  })
}
