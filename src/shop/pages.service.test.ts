import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, test } from 'vitest'
import { type App, sharedApp } from '../../test/support/app.ts'
import { request, sendRaw } from '../../test/support/http-client.ts'
import { openTestServer } from '../../test/support/http-server.ts'
import { PAGE_POLICY, policyFault } from '../../test/support/page-policy.ts'
import { createOrder, FAKE_SHOP } from '../../test/support/shop-client.ts'
import { tempFolder } from '../../test/support/stores.ts'
import { PROXY_ENV } from '../../test/support/trusted-proxy.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp({ ...PROXY_ENV, ...FAKE_SHOP })
})

const ID = `ord_${'0'.repeat(22)}`

describe('every page', () => {
  for (const path of ['/pricing', `/orders/${ID}`]) {
    test(`${path} loads only files of the build`, async () => {
      const { text, headers, status } = await request(`${app.url}${path}`)
      assert.equal(status, 200)
      assert.equal(policyFault(text), undefined)
      assert.equal(headers.get('content-security-policy'), PAGE_POLICY)
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
    })
  }
})

describe('/pricing', () => {
  test('mentions a receipt only if one is sent', async () => {
    assert.doesNotMatch((await request(`${app.url}/pricing`)).text, /for the receipt/)
    const server = await openTestServer({
      env: {
        ...FAKE_SHOP,
        MAYFLY_BASE_URL: 'https://mail.test',
        MAYFLY_MAIL_OUT: 'smtp://mail.test',
        MAYFLY_MAIL_FROM: 'shop@mail.test',
      },
    })
    assert.match((await request(`${server.url}/pricing`)).text, /for the receipt/)
    await server.stop()
  })

  test('shows the plans of /api/plans', async () => {
    const { text } = await request(`${app.url}/pricing`)
    const { body } = await request(`${app.url}/api/plans`)
    const plans = body['plans'] as { id: string; name: string }[]
    assert.deepEqual(
      plans.map(({ id }) => id),
      ['starter', 'business'],
    )
    for (const { id, name } of plans) {
      assert.ok(text.includes(`id="plan-${id}"`) && text.includes(`>${name}<`))
    }
    for (const words of [
      '$5',
      '$45',
      '1,000 requests',
      'No daily limit',
      '100,000 requests',
      '24/7 priority',
    ]) {
      assert.ok(text.includes(words), words)
    }
  })

  test('says that it is a test shop', async () => {
    assert.match((await request(`${app.url}/pricing`)).text, /test shop/)
  })

  test('says how to contact the operator if plans are not sold online, and nothing links to it', async () => {
    const server = await openTestServer()
    const [pricing, key, home, sitemap] = await Promise.all(
      ['/pricing', '/key', '/', '/sitemap.xml'].map((path) => request(`${server.url}${path}`)),
    )
    await server.stop()
    assert.match(pricing?.text ?? '', /mailto:postmaster@box\.test/)
    assert.doesNotMatch(pricing?.text ?? '', /<button|test shop/)
    for (const page of [pricing, key]) {
      assert.match(page?.text ?? '', /<meta name="robots" content="noindex">/)
    }
    assert.doesNotMatch(`${home?.text}${sitemap?.text}`, /\/pricing|\/key/)
    const sold = await request(`${app.url}/`)
    assert.match(sold.text, /href="\/pricing"[\s\S]*href="\/key"/)
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
    assert.ok(text.includes('$1.99') && text.includes('id="plan-odd"'))
    assert.doesNotMatch(text, /<script>alert/)
  })

  test('says what to do without a script', async () => {
    const { text } = await request(`${app.url}/pricing`)
    const [, words = ''] = /<noscript>(.*?)<\/noscript>/s.exec(text) ?? []
    assert.match(words, /JavaScript/)
    assert.ok(words.includes(`curl -X POST ${app.url}/api/checkout -d plan=starter`))
  })
})

describe('/orders/{id}', () => {
  test('is the same for known and unknown orders', async () => {
    const { id } = await createOrder(app.url)
    const known = await request(`${app.url}/orders/${id}`)
    const unknown = await request(`${app.url}/orders/${ID}`)
    assert.equal(known.text.replaceAll(id, ID), unknown.text)
  })

  for (const id of ['nonsense', `${ID}0`, `ord_${'<'.repeat(22)}`, '%00']) {
    test(`404: ${id} is not an order id`, async () => {
      const response = await request(`${app.url}/orders/${id}`)
      assert.deepEqual([response.status, response.body['code']], [404, 'not_found'])
    })
  }

  test('an invalid Host header does not appear in the page', async () => {
    const hostileRequest = `GET /orders/${ID} HTTP/1.1\r\nHost: x"><script>\r\nConnection: close\r\n\r\n`
    const received = await sendRaw(app.httpPort, hostileRequest)
    assert.ok(received.includes('http://HOST/api/orders'))
    assert.doesNotMatch(received, /x"><script>/)
  })

  test('says what to do without a script', async () => {
    const { text } = await request(`${app.url}/orders/${ID}`)
    const [, words = ''] = /<noscript>(.*?)<\/noscript>/s.exec(text) ?? []
    assert.match(words, /JavaScript/)
    assert.ok(words.includes(`${app.url}/api/orders/${ID}/claim`))
  })
})
