import { Type } from 'typebox'
import { handleWebhook } from '../../service/shop/settle-order.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import { successField } from './schemas.ts'

export const stripeWebhookRoute = route({
  method: 'POST',
  path: '/api/stripe/webhook',
  title: 'Stripe webhooks',
  about:
    'Receives events from Stripe, signed with the webhook secret. 200 means that the change is stored; on anything else, Stripe redelivers the event.',
  input: Type.Object({}),
  output: Type.Object({ status: successField }),
  requestHeaders: [
    {
      name: 'Stripe-Signature',
      required: true,
      description: 'Covers the bytes of the body; not older than 300 seconds.',
    },
  ],
  problems: ['invalid_parameter', 'not_found', 'payment_unavailable'],
  rawBody: true,
  async handle(_input, deps, { headers, body }) {
    const signature = headers['stripe-signature']
    await handleWebhook(deps, body, typeof signature === 'string' ? signature : undefined)
    return success({})
  },
})
