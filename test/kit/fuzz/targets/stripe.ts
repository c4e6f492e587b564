import { Stripe } from 'stripe'
import { Problem } from '../../../../src/base/problem.ts'
import { EVENT_TYPES, paymentEvent, verifyEvent } from '../../../../src/shop/pay/stripe-events.ts'
import { bytesOf, JSON_TOKENS } from '../seeds.ts'
import { check, checkPrototype, type FuzzTarget } from '../target.ts'

const SECRET = 'whsec_canary-7Q'
const NOW = new Date('2027-03-05T10:00:00Z')
const seconds = Math.floor(NOW.getTime() / 1_000)
const client = new Stripe('sk_test_x')

const objects = {
  id: 'cs_1',
  subscription: { id: 'sub_1' },
  payment_intent: '',
  metadata: { order_id: 'ord_1' },
  parent: { subscription_details: { subscription: 'sub_1', metadata: { order_id: 'ord_1' } } },
}
const events = EVENT_TYPES.map((type) =>
  JSON.stringify({ id: 'evt_1', type, livemode: false, data: { object: objects } }),
)

/** An event: the first line is the signature, unless it is empty; the rest is the body, signed then. */
export const target: FuzzTarget = {
  seeds: bytesOf([
    ...events.map((event) => `\n${event}`),
    ...events.slice(0, 3).map((event) => `${signatureOf(event)}\n${event}`),
    `t=${seconds},v1=00,v0=00\n{}`,
  ]),
  tokens: [
    ...JSON_TOKENS,
    ...(
      '"__proto__":{|"constructor":|\\u0000|\n|"id":|"type":|"data":|"object":|"metadata":|"order_id":|"livemode":true|' +
      `"account":"a"|t=|v1=|v0=|,t=|t=${seconds + 301}|t=${seconds - 301}`
    ).split('|'),
    ...EVENT_TYPES,
  ],
  maxBytes: 4 * 1024,
  async run(input) {
    const end = Math.max(0, input.indexOf('\n'))
    const [given, body] = [input.toString('latin1', 0, end), input.subarray(end + 1)]
    const signature = given === '' ? signatureOf(body) : given
    try {
      const event = verifyEvent(body, signature, { webhookSecrets: [SECRET], now: () => NOW })
      check(given === '' || isGenuine(given, body), 'an event with a forged signature')
      const { id, type, findRefs } = paymentEvent(client, 'test', event)
      check(typeof id === 'string' && typeof type === 'string', 'an event without an id')
      // Of a refund, the order may have to be asked for.
      if (!/refund|dispute/.test(type)) await findRefs()
      return true
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      check(!error.message.includes(SECRET), 'the secret in a message')
      return false
    } finally {
      checkPrototype()
    }
  },
}

function signatureOf(body: string | Buffer): string {
  const payload = body.toString()
  return Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp: seconds })
}

/** Its time and its signature are ours, in whatever order. */
function isGenuine(signature: string, body: Buffer): boolean {
  const own = /v1=([0-9a-f]+)/.exec(signatureOf(body))?.[1] ?? ''
  return signature.includes(own)
}
