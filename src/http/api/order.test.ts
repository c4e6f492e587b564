import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { ask, refusalFault } from '../../../test/ask.ts'
import { type House, openHouse } from '../../../test/app.ts'
import { claim, clickPay, FAKE_SHOP, look, order, revokeKeyOf } from '../../../test/shop-client.ts'
import { PROXY_ENV, sharedAnswers } from '../server/route.contract.ts'
import { orderRoute } from './order.ts'

let house: House
beforeAll(async () => {
  house = await openHouse({ env: { ...PROXY_ENV, ...FAKE_SHOP } })
})
afterAll(() => house.stop())

sharedAnswers(orderRoute, () => house)

describe('200', () => {
  test('an open order tells where to pay, and nothing of a key', async () => {
    const made = await order(house.url, { plan: 'business' })
    const { body, headers } = await look(house.url, made)
    assert.equal(headers.get('cache-control'), 'no-store')
    const { created_at, created_at_iso, next, ...rest } = body
    assert.match(String(created_at), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    assert.equal(created_at_iso, `${String(created_at).replace(' ', 'T')}Z`)
    assert.match(String(next), /Pay/)
    assert.deepEqual(rest, {
      status: 'success',
      order_id: made.id,
      plan: 'business',
      plan_name: 'Business',
      price: { cents: 4_500, currency: 'usd', text: '45 USD', term: 'a year' },
      state: 'open',
      url: made.payUrl,
      paid_until: null,
      paid_until_iso: null,
      claimable: false,
      claimed_at: null,
      claimed_at_iso: null,
      key_prefix: null,
    })
  })

  test('a paid order tells until when, and how its key begins', async () => {
    const made = await order(house.url, { plan: 'business' })
    await clickPay(house.url, made)
    const { body } = await look(house.url, made)
    assert.deepEqual([body['state'], body['claimable'], body['url']], ['paid', true, null])
    assert.match(String(body['key_prefix']), /^mf_test_\w{4}$/)
    const years = Date.parse(String(body['paid_until_iso'])) - house.now().getTime()
    assert.ok(years > 364 * 86_400_000 && years < 367 * 86_400_000)
  })

  test('a claimed order tells when; a day later it cannot be claimed again', async () => {
    const made = await order(house.url)
    await clickPay(house.url, made)
    await claim(house.url, made)
    const { body } = await look(house.url, made)
    assert.equal(body['claimable'], true)
    assert.match(String(body['claimed_at']), /^\d{4}-/)
    house.moveClock(86_400)
    const later = await look(house.url, made)
    assert.equal(later.body['claimable'], false)
    assert.equal(later.body['claimed_at'], body['claimed_at'])
  })

  test('a key that was revoked cannot be claimed, and the next step says so', async () => {
    const made = await order(house.url)
    await clickPay(house.url, made)
    await revokeKeyOf(house, made)
    const { body } = await look(house.url, made)
    assert.deepEqual([body['state'], body['claimable']], ['paid', false])
    assert.match(String(body['next']), /revoked/)
  })

  for (const [outcome, state, payable] of [
    ['later', 'pending', true],
    ['decline', 'failed', false],
  ] as const) {
    test(`${outcome} on the pay page leaves it ${state}`, async () => {
      const made = await order(house.url)
      await clickPay(house.url, made, outcome)
      const { body } = await look(house.url, made)
      assert.deepEqual([body['state'], body['url'] !== null], [state, payable])
    })
  }
})

describe('400', () => {
  for (const headers of [{}, { 'claim-secret': '' }]) {
    test(`${JSON.stringify(headers)}: the header is asked for by its name`, async () => {
      const { id } = await order(house.url)
      const asked = await ask(`${house.url}/api/orders/${id}`, { headers })
      assert.deepEqual([asked.status, asked.body['code']], [400, 'missing_parameter'])
      assert.match(String(asked.body['message']), /^Claim-Secret: /)
      assert.equal(refusalFault(asked), undefined)
    })
  }

  test('a secret in the address counts for nothing', async () => {
    const { id, secret } = await order(house.url)
    const asked = await ask(`${house.url}/api/orders/${id}?claim-secret=${secret}&token=${secret}`)
    assert.equal(asked.status, 400)
  })
})

describe('404', () => {
  test('a wrong secret, another order’s and an order that never was: the same words', async () => {
    const made = await order(house.url)
    const other = await order(house.url)
    const answers = [
      await look(house.url, { ...made, secret: other.secret }),
      await look(house.url, { ...made, secret: `${made.secret}x` }),
      await look(house.url, { ...made, secret: 'x'.repeat(8_000) }),
      await look(house.url, { ...made, id: `ord_${'0'.repeat(22)}` }),
      await look(house.url, { ...made, id: 'nonsense' }),
      await look(house.url, { ...made, id: '%00' }),
    ]
    const told = answers.map(({ status, body }) => [status, body['code'], body['message']].join())
    assert.equal(new Set(told).size, 1)
    assert.match(told[0] ?? '', /^404,not_found,/)
  })
})
