import assert from 'node:assert/strict'
import { afterAll, beforeAll, test } from 'vitest'
import { checkMail } from './support/api-client.ts'
import { type App, startApp } from './support/app.ts'
import { request } from './support/http-client.ts'
import { claim, createOrder, FAKE_SHOP, getOrder, payOrder } from './support/shop-client.ts'

// The receipts of one service are received by another one: real mail, end to end.

let post: App
let shop: App
beforeAll(async () => {
  post = await startApp()
  shop = await startApp({
    env: {
      ...FAKE_SHOP,
      MAYFLY_BASE_URL: 'https://mail.example',
      // Its certificate is self-signed.
      MAYFLY_MAIL_OUT: `smtp://127.0.0.1:${post.smtpPort}?tls.rejectUnauthorized=false`,
      MAYFLY_MAIL_FROM: 'Mayfly <shop@mail.example>',
    },
  })
})
afterAll(async () => {
  await shop.stop()
  await post.stop()
})

test('the buyer gets a receipt, and its link shows the key once', async () => {
  const { email, token } = await post.session()
  const made = await createOrder(shop.url, { plan: 'business', email })
  await payOrder(shop.url, made)
  const [summary] = await checkMail(post.url, token, '&wait=30')
  assert.deepEqual(
    [summary?.sender_email, summary?.subject],
    ['shop@mail.example', 'Your order of Business'],
  )
  const { body } = await request(`${post.url}/api/read-mail?token=${token}&id=${summary?.id}`)
  const { body_text: text } = body['message'] as { body_text: string }
  const { key_prefix: prefix } = (await getOrder(shop.url, made)).body
  for (const part of ['Business', '45 USD a year', made.id, String(prefix)]) {
    assert.ok(text.includes(part), part)
  }
  assert.doesNotMatch(text, /mf_test_\w{5}/)

  const [, secret = ''] =
    new RegExp(`https://mail\\.example/orders/${made.id}#(\\S+)`).exec(text) ?? []
  const linked = { ...made, secret }
  assert.equal((await getOrder(shop.url, linked)).body['state'], 'paid')
  const claims = await Promise.all(Array.from({ length: 20 }, () => claim(shop.url, linked)))
  const statuses = claims.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, ...Array.from({ length: 19 }, () => 404)])
  const key = String(claims.find(({ status }) => status === 200)?.body['key'])
  const usage = await request(`${shop.url}/usage`, { headers: { apikey: key } })
  assert.equal(usage.status, 200)

  const again = await claim(shop.url, made)
  assert.equal(again.status, 200, 'the claim secret still does, for a day')
  const ended = await request(`${shop.url}/usage`, { headers: { apikey: key } })
  assert.equal(ended.status, 401)
})
