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
    'Makes an order and tells where it is paid. Keep the claim secret: it shows the key once the order is paid, and is told here only. With an Idempotency-Key the same request gets the same answer, however often it is sent.',
  input: Type.Object({
    plan: Type.String({ description: 'The id of a plan, as /api/plans gives it.' }),
    email: Type.Optional(
      Type.String({ description: 'Gets a receipt, where the site sends mail. Never the key.' }),
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
        '16 to 255 visible ASCII characters, no comma among them, best random ones: whoever knows them can learn the claim secret from your address.',
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

// No comma: with one, and a space, node joins what is given twice.
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
    'Idempotency-Key: give 16 to 255 visible ASCII characters, once, without a comma.',
  )
}
