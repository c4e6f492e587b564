import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, type TestContext, test } from 'vitest'
import { startApp } from './kit/app/app.ts'
import { freeServicePorts, type ServiceProcess, spawnService } from './kit/app/service-process.ts'
import { checkMail } from './kit/http/api-client.ts'
import { request, type TestResponse } from './kit/http/http-client.ts'
import {
  checkout,
  claim,
  createOrder,
  FAKE_SHOP,
  getOrder,
  type Order,
  payOrder,
} from './kit/shop/shop-client.ts'
import { openStripeServer } from './kit/shop/stripe/stripe-server.ts'
import { stripeEnv } from './kit/shop/stripe-app.ts'
import { openSmtpSink } from './kit/smtp/smtp-sink.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// Most tests run at the same time: what takes long is waiting for jobs and timeouts of the service.

const running: ServiceProcess[] = []
const folder = tempFolder()
afterAll(async () => {
  for (const served of running) if (served.child.exitCode === null) await served.kill('SIGKILL')
  folder.remove()
})

async function serve(name: string, env: Record<string, string>): Promise<ServiceProcess> {
  const place = { folder: join(folder.path, name), ports: await freeServicePorts() }
  const served = await spawnService({ ...place, env: { MAYFLY_LOG_LEVEL: 'debug', ...env } })
  running.push(served)
  return served
}

test('a paid order yields a key, and the key reads mail', async ({ onTestFinished }) => {
  const app = await startApp({ env: FAKE_SHOP })
  onTestFinished(() => app.stop())
  const made = await createOrder(app.url)
  await payOrder(app.url, made)
  const { key } = (await claim(app.url, made)).body
  expect(await app.mail('anything@pool.test')).toBe(250)
  const { body, status } = await request(`${app.url}/emails?to=anything@pool.test`, {
    headers: { apikey: String(key) },
  })
  expect(status).toBe(200)
  const [{ address, emails = [] } = {}] = body as unknown as {
    address?: string
    emails?: { subject: string }[]
  }[]
  expect([address, emails[0]?.subject]).toStrictEqual(['anything@pool.test', 'Hello'])
})

const SECRETS = {
  stripeKey: 'sk_test_canaryStripeKey00000',
  wrongKey: 'sk_test_canaryWrongKey000000',
  webhook: 'whsec_canaryWebhookSecret000',
  mailPassword: 'canaryMailPassword',
  idempotencyKey: 'canary-idempotency-key',
}

test.concurrent('secrets are in no log line, error response, metric or file', async ({
  onTestFinished,
}) => {
  const { stripe, mail } = await openElsewhere(onTestFinished)
  const env = {
    ...stripeEnv(stripe),
    MAYFLY_MAIL_OUT: mail.url.replace('//', `//canary:${SECRETS.mailPassword}@`),
    MAYFLY_MAIL_FROM: 'shop@mail.example',
  }
  const [wrong, right] = await Promise.all([
    serve('wrong', { ...env, MAYFLY_STRIPE_SECRET_KEY: SECRETS.wrongKey }),
    serve('right', env),
  ])
  const [refused, used] = await Promise.all([
    checkout(wrong.url),
    buyAndClaim(right, { stripe, mail }),
  ])
  expect(refused.status).toBe(503)
  const metrics = await request(`${right.url}/metrics`)
  expect(metrics.text).toMatch(/"\/api\/orders\/\{id\}\/claim"/)
  const live = filesIn('right')
  expect(live.some(([name, text]) => name === 'right/shop.db-wal' && text !== '')).toBeTruthy()

  const places: Place[] = [
    ['a metric', metrics.text + (await request(`${wrong.url}/metrics`)).text],
    ['a refusal', [refused, ...used.refusals].map(({ text }) => text).join('\n')],
    ...live,
  ]
  for (const served of [wrong, right]) expect(await served.kill('SIGTERM')).toBe(0)
  const log = wrong.output() + right.output()
  expect(log).toMatch(/a request to the payment provider failed/)
  expect(log).not.toMatch(/canary/i)
  places.push(['the log', log], ...filesIn('wrong'), ...filesIn('right'))
  const secrets = [...Object.values(SECRETS), ...used.secrets]
  for (const [place, text] of places) {
    for (const secret of secrets) expect(text, `${place} contains ${secret}`).not.toContain(secret)
  }
})

test.concurrent('a Stripe that never responds does not delay the shutdown', async ({
  onTestFinished,
}) => {
  const stripe = await openStripeServer({ now: () => new Date() })
  onTestFinished(() => stripe.close())
  stripe.outage = 'silent'
  const served = await serve('silent', stripeEnv(stripe))
  const pending = checkout(served.url).catch(() => undefined)
  const paths = () => stripe.requests.map(({ path }) => path).sort()
  // By the checkout, and by the search for missed events.
  await waitUntil(() => paths().length >= 2)
  expect(await served.kill('SIGTERM')).toBe(0)
  await pending
  // The checkout gives up only after one retry.
  expect(paths().filter((path) => path === '/v1/checkout/sessions').length).toBe(1)
})

// The receipts of one service are received by another one: real mail, end to end.
test.concurrent('the buyer gets a receipt, and its link shows the key once', async ({
  onTestFinished,
}) => {
  const post = await startApp()
  onTestFinished(() => post.stop())
  const shop = await startApp({
    env: {
      ...FAKE_SHOP,
      MAYFLY_BASE_URL: 'https://mail.example',
      // Its certificate is self-signed.
      MAYFLY_MAIL_OUT: `smtp://127.0.0.1:${post.smtpPort}?tls.rejectUnauthorized=false`,
      MAYFLY_MAIL_FROM: 'Mayfly <shop@mail.example>',
    },
  })
  onTestFinished(() => shop.stop())
  const { email, token } = await post.session()
  const made = await createOrder(shop.url, { plan: 'business', email })
  await payOrder(shop.url, made)
  const [summary] = await checkMail(post.url, token, '&wait=30')
  expect([summary?.sender_email, summary?.subject]).toStrictEqual([
    'shop@mail.example',
    'Your order: Business',
  ])
  const { body } = await request(`${post.url}/api/read-mail?token=${token}&id=${summary?.id}`)
  const { body_text: text } = body['message'] as { body_text: string }
  const { key_prefix: prefix } = (await getOrder(shop.url, made)).body
  for (const part of ['Business', '45 USD a year', made.id, String(prefix)]) {
    expect(text, part).toContain(part)
  }
  expect(text).not.toMatch(/mf_test_\w{5}/)

  const [, secret = ''] =
    new RegExp(`https://mail\\.example/orders/${made.id}#(\\S+)`).exec(text) ?? []
  const linked = { ...made, secret }
  expect((await getOrder(shop.url, linked)).body['state']).toBe('paid')
  const claims = await Promise.all(Array.from({ length: 20 }, () => claim(shop.url, linked)))
  const statuses = claims.map(({ status }) => status).sort()
  expect(statuses).toStrictEqual([200, ...Array.from({ length: 19 }, () => 404)])
  const key = String(claims.find(({ status }) => status === 200)?.body['key'])
  const usage = await request(`${shop.url}/usage`, { headers: { apikey: key } })
  expect(usage.status).toBe(200)

  const again = await claim(shop.url, made)
  expect(again.status, 'the claim secret still works for a day').toBe(200)
  const ended = await request(`${shop.url}/usage`, { headers: { apikey: key } })
  expect(ended.status).toBe(401)
})

interface Elsewhere {
  stripe: Awaited<ReturnType<typeof openStripeServer>>
  mail: Awaited<ReturnType<typeof openSmtpSink>>
}

async function openElsewhere(onTestFinished: TestContext['onTestFinished']): Promise<Elsewhere> {
  const stripe = await openStripeServer({
    now: () => new Date(),
    secretKey: SECRETS.stripeKey,
    webhookSecret: SECRETS.webhook,
  })
  onTestFinished(() => stripe.close())
  const mail = await openSmtpSink()
  onTestFinished(() => mail.close())
  return { stripe, mail }
}

/** Everything a buyer can do, valid and invalid: returns the secrets involved and the error responses. */
async function buyAndClaim({ url }: ServiceProcess, { stripe, mail }: Elsewhere) {
  const webhook = `${url}/api/stripe/webhook`
  const { body } = await checkout(
    url,
    { email: 'canary@buyer.example' },
    { 'idempotency-key': SECRETS.idempotencyKey },
  )
  const made: Order = {
    id: String(body['order_id']),
    secret: String(body['claim_secret']),
    payUrl: '',
  }
  const refusals: TestResponse[] = [await claim(url, made)]
  const receipt = mail.next()
  stripe.pay(stripe.sessionsOf(made.id)[0] ?? '')
  const events = stripe.take()
  for (const event of events) {
    stripe.outage = 'error'
    await stripe.deliver(webhook, event)
    stripe.outage = undefined
    await stripe.deliver(webhook, event, { secret: 'whsec_other' })
    expect(await stripe.deliver(webhook, event)).toBe(200)
  }
  const keys = [await claim(url, made), await claim(url, made)].map(({ body }) =>
    String(body['key']),
  )
  const link = /#([\w-]+(?:=\r\n[\w-]+)*)/.exec((await receipt).raw)?.[1]?.replaceAll('=\r\n', '')
  expect(link).toBeTruthy()
  refusals.push(
    await getOrder(url, { ...made, secret: `${made.secret}x` }),
    await getOrder(url, { ...made, id: made.secret }),
    await request(`${url}/api/orders/${made.id}?claim-secret=${made.secret}`),
    await request(`${url}/api/${made.secret}/${keys[0]}`),
    await checkout(url, { plan: made.secret }, { 'idempotency-key': SECRETS.idempotencyKey }),
    await request(`${url}/emails`, { headers: { apikey: keys[0] ?? '' } }),
  )
  for (const { status } of refusals) expect(status).toBeGreaterThanOrEqual(400)
  const hidden = keys.map((key) => key.slice('mf_test_xxxx'.length))
  return { secrets: [made.secret, link, ...keys, ...hidden], refusals }
}

type Place = readonly [name: string, text: string]

function filesIn(name: string): Place[] {
  return readdirSync(join(folder.path, name)).map((file) => [
    join(name, file),
    readFileSync(join(folder.path, name, file), 'latin1'),
  ])
}
