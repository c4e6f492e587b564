import { expect, test } from 'vitest'
import { openPaymentProvider } from './open.ts'
import { checkoutOrder } from './testing/stripe-fixture.ts'

const now = () => new Date('2027-03-05T10:00:00Z')
const stripe = { secretKey: 'sk_test_1', webhookSecrets: ['whsec_1'], apiUrl: '', prices: {} }

test('the fake provider uses our payment page and creates test keys', async () => {
  const pay = await openPaymentProvider({ provider: 'fake', stripe, now })
  expect(pay).toMatchObject({ provider: 'fake', mode: 'test', remote: undefined })
  expect(await pay.createCheckout(checkoutOrder())).toEqual({
    ref: 'fake_ord_1',
    url: 'https://mail.example/pay/ord_1',
  })
})

test('the manual provider creates no checkout, and live keys', async () => {
  const pay = await openPaymentProvider({ provider: 'manual', stripe, now })
  expect(pay).toMatchObject({ provider: 'manual', mode: 'live', remote: undefined })
  await expect(pay.createCheckout(checkoutOrder())).rejects.toMatchObject({
    code: 'not_found',
    message: 'This site does not sell plans online. Ask the operator for a key.',
  })
})

for (const [secretKey, mode] of [
  ['sk_test_1', 'test'],
  ['rk_test_1', 'test'],
  ['sk_live_1', 'live'],
  ['rk_live_1', 'live'],
  ['sk_live_sk_test_1', 'live'],
] as const) {
  test(`the secret key ${secretKey} creates ${mode} keys`, async () => {
    const pay = await openPaymentProvider({
      provider: 'stripe',
      stripe: { ...stripe, secretKey },
      now,
    })
    expect(pay).toMatchObject({ provider: 'stripe', mode })
    expect(pay.remote).toBeDefined()
  })
}
