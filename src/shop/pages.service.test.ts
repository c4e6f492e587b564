import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../test/kit/app/app.ts'
import { request, sendRaw } from '../../test/kit/http/http-client.ts'
import { openTestServer } from '../../test/kit/http/http-server.ts'
import { PAGE_POLICY, policyFault } from '../../test/kit/http/page-policy.ts'
import { PROXY_ENV } from '../../test/kit/http/trusted-proxy.ts'
import { createOrder, FAKE_SHOP } from '../../test/kit/shop/shop-client.ts'
import { tempFolder } from '../../test/kit/store/stores.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp({ ...PROXY_ENV, ...FAKE_SHOP })
})

const ID = `ord_${'0'.repeat(22)}`

describe('every page', () => {
  for (const path of ['/pricing', `/orders/${ID}`]) {
    test(`${path} loads only files of the build`, async () => {
      const { text, headers, status } = await request(`${app.url}${path}`)
      expect(status).toBe(200)
      expect(policyFault(text)).toBeUndefined()
      expect(headers.get('content-security-policy')).toBe(PAGE_POLICY)
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
    })
  }
})

describe('/pricing', () => {
  test('mentions a receipt only if one is sent', async () => {
    expect((await request(`${app.url}/pricing`)).text).not.toMatch(/for the receipt/)
    const server = await openTestServer({
      env: {
        ...FAKE_SHOP,
        MAYFLY_BASE_URL: 'https://mail.test',
        MAYFLY_MAIL_OUT: 'smtp://mail.test',
        MAYFLY_MAIL_FROM: 'shop@mail.test',
      },
    })
    expect((await request(`${server.url}/pricing`)).text).toMatch(/for the receipt/)
    await server.stop()
  })

  test('offers domains only if key holders may bring them', async () => {
    expect((await request(`${app.url}/pricing`)).text).not.toMatch(/domains? of your own/)
    const server = await openTestServer({ env: { ...FAKE_SHOP, MAYFLY_OWN_DOMAINS: 'keys' } })
    const { text } = await request(`${server.url}/pricing`)
    expect(text).toContain('1 domain of your own')
    expect(text).toContain('5 domains of your own')
    await server.stop()
  })

  test('shows the plans of /api/plans', async () => {
    const { text } = await request(`${app.url}/pricing`)
    const { body } = await request(`${app.url}/api/plans`)
    const plans = body['plans'] as { id: string; name: string }[]
    expect(plans.map(({ id }) => id)).toStrictEqual(['starter', 'business'])
    for (const { id, name } of plans) {
      expect(text.includes(`id="plan-${id}"`) && text.includes(`>${name}<`)).toBeTruthy()
    }
    for (const words of [
      '$5',
      '$45',
      '1,000 requests',
      'No daily limit',
      '100,000 requests',
      '24/7 priority',
    ]) {
      expect(text, words).toContain(words)
    }
  })

  test('says that it is a test shop', async () => {
    expect((await request(`${app.url}/pricing`)).text).toMatch(/test shop/)
  })

  test('says how to contact the operator if plans are not sold online, and nothing links to it', async () => {
    const server = await openTestServer()
    const [pricing, key, home, sitemap] = await Promise.all(
      ['/pricing', '/key', '/', '/sitemap.xml'].map((path) => request(`${server.url}${path}`)),
    )
    await server.stop()
    expect(pricing?.text ?? '').toMatch(/mailto:postmaster@box\.test/)
    expect(pricing?.text ?? '').not.toMatch(/<button|test shop/)
    for (const page of [pricing, key]) {
      expect(page?.text ?? '').toMatch(/<meta name="robots" content="noindex">/)
    }
    expect(`${home?.text}${sitemap?.text}`).not.toMatch(/\/pricing|\/key/)
    const sold = await request(`${app.url}/`)
    expect(sold.text).toMatch(/href="\/pricing"[\s\S]*href="\/key"/)
  })

  test('escapes the names of custom plans', async () => {
    const folder = tempFolder()
    const file = join(folder.path, 'plans.json')
    const name = '<script>alert("&")</script>'
    writeFileSync(file, JSON.stringify([{ id: 'odd', name, price_cents: 199, requests: 5 }]))
    const server = await openTestServer({ env: { ...FAKE_SHOP, MAYFLY_PLANS_FILE: file } })
    const { text } = await request(`${server.url}/pricing`)
    await server.stop()
    folder.remove()
    expect(text.includes('$1.99') && text.includes('id="plan-odd"')).toBeTruthy()
    expect(text).not.toMatch(/<script>alert/)
  })

  test('says what to do without a script', async () => {
    const { text } = await request(`${app.url}/pricing`)
    const [, words = ''] = /<noscript>(.*?)<\/noscript>/s.exec(text) ?? []
    expect(words).toMatch(/JavaScript/)
    expect(words).toContain(`curl -X POST ${app.url}/api/checkout -d plan=starter`)
  })
})

describe('/orders/{id}', () => {
  test('is the same for known and unknown orders', async () => {
    const { id } = await createOrder(app.url)
    const known = await request(`${app.url}/orders/${id}`)
    const unknown = await request(`${app.url}/orders/${ID}`)
    expect(known.text.replaceAll(id, ID)).toBe(unknown.text)
  })

  for (const id of ['nonsense', `${ID}0`, `ord_${'<'.repeat(22)}`, '%00']) {
    test(`404: ${id} is not an order id`, async () => {
      const response = await request(`${app.url}/orders/${id}`)
      expect([response.status, response.body['code']]).toStrictEqual([404, 'not_found'])
    })
  }

  test('an invalid Host header does not appear in the page', async () => {
    const hostileRequest = `GET /orders/${ID} HTTP/1.1\r\nHost: x"><script>\r\nConnection: close\r\n\r\n`
    const received = await sendRaw(app.httpPort, hostileRequest)
    expect(received).toContain('http://HOST/api/orders')
    expect(received).not.toMatch(/x"><script>/)
  })

  test('says what to do without a script', async () => {
    const { text } = await request(`${app.url}/orders/${ID}`)
    const [, words = ''] = /<noscript>(.*?)<\/noscript>/s.exec(text) ?? []
    expect(words).toMatch(/JavaScript/)
    expect(words).toContain(`${app.url}/api/orders/${ID}/claim`)
  })
})
