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
    'For Stripe alone: events, as they are signed with the secret of the endpoint. A success means that what they changed is on disk; anything else means that they should come again.',
  input: Type.Object({}),
  output: Type.Object({ status: successField }),
  requestHeaders: [
    {
      name: 'Stripe-Signature',
      required: true,
      description: 'Over the bytes of the body, of the last 300 seconds.',
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
