import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest'
import { type App, startApp } from '../../../test/support/app.ts'
import { post, problemFault, request } from '../../../test/support/http-client.ts'
import { openTestServer } from '../../../test/support/http-server.ts'
import { createOrder, FAKE_SHOP, getOrder, payOrder } from '../../../test/support/shop-client.ts'
import { PROXY_ENV } from '../../../test/support/trusted-proxy.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ env: { ...PROXY_ENV, ...FAKE_SHOP } })
})
afterAll(() => app.stop())

describe('GET /pay/{id}', () => {
  describe('200', () => {
    test('shows the order, the test notice and the outcomes', async () => {
      const made = await createOrder(app.url, { plan: 'business' })
      const { text, headers } = await request(made.payUrl)
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
      assert.equal(headers.get('cache-control'), 'no-store')
      for (const part of ['test shop', 'Business', '45 USD', made.id])
        assert.ok(text.includes(part))
      assert.deepEqual(outcomes(text), ['pay', 'later', 'decline'])
      assert.ok(!text.includes(made.secret))
    })

    test('a pending payment can succeed or fail', async () => {
      const made = await createOrder(app.url)
      await payOrder(app.url, made, 'later')
      assert.deepEqual(outcomes((await request(made.payUrl)).text), ['pay', 'decline'])
    })

    test('a completed order links back to it', async () => {
      const made = await createOrder(app.url)
      await payOrder(app.url, made)
      const { text } = await request(made.payUrl)
      assert.deepEqual(outcomes(text), [])
      assert.ok(text.includes(`href="/orders/${made.id}"`))
    })
  })

  describe('404', () => {
    for (const id of [`ord_${'0'.repeat(22)}`, 'nonsense', '%00', '..%2f..%2fetc%2fpasswd']) {
      test(`${id} is not an order`, async () => {
        const asked = await request(`${app.url}/pay/${id}`)
        assert.deepEqual([asked.status, asked.body['code']], [404, 'not_found'])
        assert.equal(problemFault(asked), undefined)
      })
    }

    test('without the test shop there is no payment page', async () => {
      const door = await openTestServer()
      onTestFinished(() => door.stop())
      const asked = await request(`${door.url}/pay/ord_${'0'.repeat(22)}`)
      assert.equal(asked.status, 404)
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
        const made = await createOrder(app.url)
        const asked = await payOrder(app.url, made, outcome)
        assert.equal(asked.status, 303)
        assert.equal(asked.headers.get('location'), `/orders/${made.id}`)
        assert.equal((await getOrder(app.url, made)).body['state'], state)
      })
    }
  })

  describe('400', () => {
    for (const outcome of ['', 'refund', 'PAY']) {
      test(`${JSON.stringify(outcome)} is not an outcome`, async () => {
        const made = await createOrder(app.url)
        const asked = await post(`${app.url}/pay/${made.id}`, { outcome })
        assert.equal(asked.status, 400)
        assert.match(String(asked.body['message']), /^outcome: /)
        assert.equal((await getOrder(app.url, made)).body['state'], 'open')
      })
    }
  })

  describe('404', () => {
    test('an unknown order cannot be paid', async () => {
      const asked = await post(`${app.url}/pay/ord_${'0'.repeat(22)}`, { outcome: 'pay' })
      assert.deepEqual([asked.status, asked.body['code']], [404, 'not_found'])
    })
  })
})

function outcomes(text: string): string[] {
  return [...text.matchAll(/name="outcome" value="(\w+)"/g)].map(([, outcome = '']) => outcome)
}
