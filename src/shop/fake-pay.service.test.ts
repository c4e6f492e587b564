import assert from 'node:assert/strict'
import { beforeAll, describe, onTestFinished, test } from 'vitest'
import { type App, sharedApp } from '../../test/support/app.ts'
import { post, problemFault, request } from '../../test/support/http-client.ts'
import { openTestServer } from '../../test/support/http-server.ts'
import { createOrder, FAKE_SHOP, getOrder, payOrder } from '../../test/support/shop-client.ts'
import { PROXY_ENV } from '../../test/support/trusted-proxy.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp({ ...PROXY_ENV, ...FAKE_SHOP })
})

describe('GET /pay/{id}', () => {
  describe('200', () => {
    test('shows the order, the test notice and the outcomes', async () => {
      const order = await createOrder(app.url, { plan: 'business' })
      const { text, headers } = await request(order.payUrl)
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
      assert.equal(headers.get('cache-control'), 'no-store')
      for (const part of ['test shop', 'Business', '$45', order.id]) assert.ok(text.includes(part))
      assert.deepEqual(outcomes(text), ['pay', 'later', 'decline'])
      assert.ok(!text.includes(order.secret))
    })

    test('a pending payment can succeed or fail', async () => {
      const order = await createOrder(app.url)
      await payOrder(app.url, order, 'later')
      assert.deepEqual(outcomes((await request(order.payUrl)).text), ['pay', 'decline'])
    })

    test('a completed order has no outcomes and links to the order page', async () => {
      const order = await createOrder(app.url)
      await payOrder(app.url, order)
      const { text } = await request(order.payUrl)
      assert.deepEqual(outcomes(text), [])
      assert.ok(text.includes(`href="/orders/${order.id}"`))
    })
  })

  describe('404', () => {
    for (const id of [`ord_${'0'.repeat(22)}`, 'nonsense', '%00', '..%2f..%2fetc%2fpasswd']) {
      test(`${id} is not an order`, async () => {
        const response = await request(`${app.url}/pay/${id}`)
        assert.deepEqual([response.status, response.body['code']], [404, 'not_found'])
        assert.equal(problemFault(response), undefined)
      })
    }

    test('without the test shop there is no payment page', async () => {
      const server = await openTestServer()
      onTestFinished(() => server.stop())
      const response = await request(`${server.url}/pay/ord_${'0'.repeat(22)}`)
      assert.equal(response.status, 404)
    })
  })
})

describe('POST /pay/{id}', () => {
  describe('303', () => {
    for (const [outcome, state] of [
      ['pay', 'paid'],
      ['later', 'pending'],
      ['decline', 'failed'],
    ] as const) {
      test(`${outcome} makes the order ${state}`, async () => {
        const order = await createOrder(app.url)
        const response = await payOrder(app.url, order, outcome)
        assert.equal(response.status, 303)
        assert.equal(response.headers.get('location'), `/orders/${order.id}`)
        assert.equal((await getOrder(app.url, order)).body['state'], state)
      })
    }
  })

  describe('400', () => {
    for (const outcome of ['', 'refund', 'PAY']) {
      test(`${JSON.stringify(outcome)} is not an outcome`, async () => {
        const order = await createOrder(app.url)
        const response = await post(`${app.url}/pay/${order.id}`, { outcome })
        assert.equal(response.status, 400)
        assert.match(String(response.body['message']), /^outcome: /)
        assert.equal((await getOrder(app.url, order)).body['state'], 'open')
      })
    }
  })

  describe('404', () => {
    test('an unknown order cannot be paid', async () => {
      const response = await post(`${app.url}/pay/ord_${'0'.repeat(22)}`, { outcome: 'pay' })
      assert.deepEqual([response.status, response.body['code']], [404, 'not_found'])
    })
  })
})

function outcomes(text: string): string[] {
  return [...text.matchAll(/name="outcome" value="(\w+)"/g)].map(([, outcome = '']) => outcome)
}
