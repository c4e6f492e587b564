import { Type } from 'typebox'
import { success } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import { countField, named, nullable, successSchema } from '../../http/server/schemas.ts'
import { type Plan, priceText, validityOf } from '../../shared/plan.ts'
import type { ShopRouteDeps } from '../deps.ts'

const planSchema = named('Plan', {
  id: Type.String({ examples: ['business'] }),
  name: Type.String({ examples: ['Business'] }),
  price: Type.Object({
    cents: countField(4_500),
    currency: Type.String({ examples: ['usd'] }),
    text: Type.String({ examples: ['45 USD'] }),
  }),
  requests: countField(100_000),
  per_day: nullable(countField(1_000), 'Requests per UTC day. Null: no daily limit.'),
  months: nullable(countField(12), 'How many months one payment covers. Null: no expiry.'),
  domains: Type.Integer({
    minimum: 0,
    description: 'Domains of its own that a key can have.',
    examples: [5],
  }),
  renews: Type.Boolean({ examples: [true] }),
  validity: Type.String({ examples: ['1 year'] }),
  support: Type.String({ examples: ['24/7 priority support'] }),
})

export const plansRoute = route({
  method: 'GET',
  path: '/api/plans',
  name: 'list-plans',
  title: 'Plans',
  description:
    'The plans: each is a key with a number of requests to /emails. If buyable is true, buy one with POST /api/checkout; otherwise, ask the operator for a key.',
  output: successSchema({
    plans: Type.Array(planSchema),
    payments: Type.Object({
      provider: Type.String({ examples: ['stripe'] }),
      buyable: Type.Boolean({ examples: [true] }),
    }),
  }),
  async handle(_input, { plans, ownDomains, pay: { provider } }: ShopRouteDeps) {
    return success({
      plans: plans.map((plan) => planJson(plan, ownDomains)),
      payments: { provider, buyable: provider !== 'manual' },
    })
  },
})

function planJson(plan: Plan, ownDomains: boolean) {
  const { id, name, requests, perDay = null, months = null, renews, support } = plan
  return {
    id,
    name,
    price: { cents: plan.priceCents, currency: plan.currency, text: priceText(plan) },
    requests,
    per_day: perDay,
    months,
    domains: ownDomains ? plan.domains : 0,
    renews,
    validity: validityOf(plan),
    support,
  }
}
