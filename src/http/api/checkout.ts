import { Type } from 'typebox'
import { Problem } from '../../core/problem.ts'
import { checkout } from '../../service/shop/checkout.ts'
import { siteUrl } from '../server/client.ts'
import { success } from '../server/response.ts'
import { type HttpRequest, route } from '../server/route.ts'
import { planFields, planJson } from './order-schemas.ts'
import { successField } from './schemas.ts'

export const checkoutRoute = route({
  method: 'POST',
  path: '/api/checkout',
  title: 'Buy a plan',
  about:
    'Creates an order and returns its payment URL. Store the claim secret: it is returned only here, and is needed to claim the key once the order is paid. With an Idempotency-Key, a repeated request returns the same response.',
  input: Type.Object({
    plan: Type.String({ description: 'The id of a plan from /api/plans.' }),
    email: Type.Optional(
      Type.String({ description: 'Receives a receipt, if the site sends mail. Never the key.' }),
    ),
  }),
  output: Type.Object({
    status: successField,
    ...planFields,
    url: Type.String({ examples: ['https://checkout.example/pay/1'] }),
    claim_secret: Type.String({ examples: ['43 characters, to be kept secret'] }),
  }),
  requestHeaders: [
    {
      name: 'Idempotency-Key',
      required: false,
      description:
        '16 to 255 visible ASCII characters without a comma, preferably random: anyone at your address who knows it can obtain the claim secret.',
    },
  ],
  problems: ['invalid_parameter', 'not_found', 'idempotency_conflict', 'payment_unavailable'],
  rate: 'checkout',
  async handle({ plan, email }, deps, request) {
    const { order, url, claimSecret } = await checkout(deps, {
      plan,
      email,
      idempotency: idempotencyOf(request),
      baseUrl: siteUrl(deps.baseUrl, request),
    })
    return success({ ...planJson(order), url, claim_secret: claimSecret })
  },
})

// No comma: Node joins repeated headers with one.
const IDEMPOTENCY_KEY = /^[!-+\x2d-~]{16,255}$/

function idempotencyOf({
  headers,
  sourceAddress,
}: HttpRequest): { key: string; client: string } | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return { key, client: sourceAddress() }
  throw new Problem(
    'invalid_parameter',
    'Idempotency-Key: must be 16 to 255 visible ASCII characters without a comma.',
  )
}
