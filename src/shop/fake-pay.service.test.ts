import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type App, sharedApp } from '../../test/kit/app/app.ts'
import { post, problemFault, request } from '../../test/kit/http/http-client.ts'
import { openTestServer } from '../../test/kit/http/http-server.ts'
import { PROXY_ENV } from '../../test/kit/http/trusted-proxy.ts'
import { createOrder, FAKE_SHOP, getOrder, payOrder } from '../../test/kit/shop/shop-client.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp({ ...PROXY_ENV, ...FAKE_SHOP })
})

describe('GET /pay/{id}', () => {
  describe('200', () => {
    test('shows the order, the test notice and the outcomes', async () => {
      const order = await createOrder(app.url, { plan: 'business' })
      const { text, headers } = await request(order.payUrl)
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(headers.get('cache-control')).toBe('no-store')
      for (const part of ['test shop', 'Business', '$45', order.id]) expect(text).toContain(part)
      expect(outcomes(text)).toStrictEqual(['pay', 'later', 'decline'])
      expect(text).not.toContain(order.secret)
    })

    test('a pending payment can succeed or fail', async () => {
      const order = await createOrder(app.url)
      await payOrder(app.url, order, 'later')
      expect(outcomes((await request(order.payUrl)).text)).toStrictEqual(['pay', 'decline'])
    })

    test('a completed order has no outcomes and links to the order page', async () => {
      const order = await createOrder(app.url)
      await payOrder(app.url, order)
      const { text } = await request(order.payUrl)
      expect(outcomes(text)).toStrictEqual([])
      expect(text).toContain(`href="/orders/${order.id}"`)
    })
  })

  describe('404', () => {
    for (const id of [`ord_${'0'.repeat(22)}`, 'nonsense', '%00', '..%2f..%2fetc%2fpasswd']) {
      test(`${id} is not an order`, async () => {
        const response = await request(`${app.url}/pay/${id}`)
        expect([response.status, response.body['code']]).toStrictEqual([404, 'not_found'])
        expect(problemFault(response)).toBeUndefined()
      })
    }

    test('without the test shop there is no payment page', async () => {
      const server = await openTestServer()
      onTestFinished(() => server.stop())
      const response = await request(`${server.url}/pay/ord_${'0'.repeat(22)}`)
      expect(response.status).toBe(404)
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
        expect(response.status).toBe(303)
        expect(response.headers.get('location')).toBe(`/orders/${order.id}`)
        expect((await getOrder(app.url, order)).body['state']).toBe(state)
      })
    }
  })

  describe('400', () => {
    for (const outcome of ['', 'refund', 'PAY']) {
      test(`${JSON.stringify(outcome)} is not an outcome`, async () => {
        const order = await createOrder(app.url)
        const response = await post(`${app.url}/pay/${order.id}`, { outcome })
        expect(response.status).toBe(400)
        expect(String(response.body['message'])).toMatch(/^outcome: /)
        expect((await getOrder(app.url, order)).body['state']).toBe('open')
      })
    }
  })

  describe('404', () => {
    test('an unknown order cannot be paid', async () => {
      const response = await post(`${app.url}/pay/ord_${'0'.repeat(22)}`, { outcome: 'pay' })
      expect([response.status, response.body['code']]).toStrictEqual([404, 'not_found'])
    })
  })
})

function outcomes(text: string): string[] {
  return [...text.matchAll(/name="outcome" value="(\w+)"/g)].map(([, outcome = '']) => outcome)
}
