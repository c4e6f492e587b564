import { expect, test } from 'vitest'
import { openPaymentProvider } from './open.ts'
import { checkoutOrder } from './testing/stripe-shop.ts'

const now = () => new Date('2027-03-05T10:00:00Z')
const stripe = { secretKey: 'sk_test_1', webhookSecrets: ['whsec_1'], apiUrl: '', prices: {} }

test('the fake shop sends the buyer to a page of ours, and gives test keys', async () => {
  const pay = await openPaymentProvider({ provider: 'fake', stripe, now })
  expect(pay).toMatchObject({ provider: 'fake', mode: 'test', book: undefined })
  expect(await pay.open(checkoutOrder())).toEqual({
    ref: 'fake_ord_1',
    url: 'https://mail.example/pay/ord_1',
  })
})

test('a site that is paid by hand opens no checkout, and gives live keys', async () => {
  const pay = await openPaymentProvider({ provider: 'manual', stripe, now })
  expect(pay).toMatchObject({ provider: 'manual', mode: 'live', book: undefined })
  await expect(pay.open(checkoutOrder())).rejects.toMatchObject({
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
  test(`with ${secretKey} Stripe gives ${mode} keys`, async () => {
    const pay = await openPaymentProvider({
      provider: 'stripe',
      stripe: { ...stripe, secretKey },
      now,
    })
    expect(pay).toMatchObject({ provider: 'stripe', mode })
    expect(pay.book).toBeDefined()
  })
}
