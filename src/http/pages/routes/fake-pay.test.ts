import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, onTestFinished, test } from 'vitest'
import { type App, startApp } from '../../../../test/app.ts'
import { ask, post, refusalFault } from '../../../../test/ask.ts'
import { openDoor } from '../../../../test/http-server.ts'
import { clickPay, FAKE_SHOP, look, order } from '../../../../test/shop-client.ts'
import { PROXY_ENV, sharedAnswers } from '../../server/route.contract.ts'
import { fakePayRoutes } from './fake-pay.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ env: { ...PROXY_ENV, ...FAKE_SHOP } })
})
afterAll(() => app.stop())

for (const route of fakePayRoutes) {
  describe(`${route.method} ${route.path}`, () => sharedAnswers(route, () => app))
}

describe('GET /pay/{id}', () => {
  describe('200', () => {
    test('shows what is paid, that it is a test, and the ways it can end', async () => {
      const made = await order(app.url, { plan: 'business' })
      const { text, headers } = await ask(made.payUrl)
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
      assert.equal(headers.get('cache-control'), 'no-store')
      for (const part of ['test shop', 'Business', '45 USD', made.id])
        assert.ok(text.includes(part))
      assert.deepEqual(outcomes(text), ['pay', 'later', 'decline'])
      assert.ok(!text.includes(made.secret))
    })

    test('what was promised can arrive or fail', async () => {
      const made = await order(app.url)
      await clickPay(app.url, made, 'later')
      assert.deepEqual(outcomes((await ask(made.payUrl)).text), ['pay', 'decline'])
    })

    test('what is decided leads back to the order', async () => {
      const made = await order(app.url)
      await clickPay(app.url, made)
      const { text } = await ask(made.payUrl)
      assert.deepEqual(outcomes(text), [])
      assert.ok(text.includes(`href="/orders/${made.id}"`))
    })
  })

  describe('404', () => {
    for (const id of [`ord_${'0'.repeat(22)}`, 'nonsense', '%00', '..%2f..%2fetc%2fpasswd']) {
      test(`${id} is no order`, async () => {
        const asked = await ask(`${app.url}/pay/${id}`)
        assert.deepEqual([asked.status, asked.body['code']], [404, 'not_found'])
        assert.equal(refusalFault(asked), undefined)
      })
    }

    test('nothing is paid here where plans are not sold by the test shop', async () => {
      const door = await openDoor()
      onTestFinished(() => door.stop())
      const asked = await ask(`${door.url}/pay/ord_${'0'.repeat(22)}`)
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
      test(`${outcome} leads to an order that is ${state}`, async () => {
        const made = await order(app.url)
        const asked = await clickPay(app.url, made, outcome)
        assert.equal(asked.status, 303)
        assert.equal(asked.headers.get('location'), `/orders/${made.id}`)
        assert.equal((await look(app.url, made)).body['state'], state)
      })
    }
  })

  describe('400', () => {
    for (const outcome of ['', 'refund', 'PAY']) {
      test(`${JSON.stringify(outcome)} is no outcome`, async () => {
        const made = await order(app.url)
        const asked = await post(`${app.url}/pay/${made.id}`, { outcome })
        assert.equal(asked.status, 400)
        assert.match(String(asked.body['message']), /^outcome: /)
        assert.equal((await look(app.url, made)).body['state'], 'open')
      })
    }
  })

  describe('404', () => {
    test('an order that never was is not paid', async () => {
      const asked = await post(`${app.url}/pay/ord_${'0'.repeat(22)}`, { outcome: 'pay' })
      assert.deepEqual([asked.status, asked.body['code']], [404, 'not_found'])
    })
  })
})

function outcomes(text: string): string[] {
  return [...text.matchAll(/name="outcome" value="(\w+)"/g)].map(([, outcome = '']) => outcome)
}
