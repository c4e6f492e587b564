import { Type } from 'typebox'
import { isOrderId, unknownOrder } from '../../../service/shop/order.ts'
import { page } from '../page.ts'
import { pageFacts } from '../page-facts.ts'
import { tongueOf } from '../plain-locale.ts'
import { type Route, route } from '../../server/route.ts'
import { orderContent, pricingContent } from '../shop-pages.ts'
import { orderIdField } from '../../api/shop-schemas.ts'

/** The pages on which people buy, and come back to. */
export const shopPageRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/pricing',
    title: 'Plans',
    about: 'What can be bought, for people.',
    input: Type.Object({}),
    output: 'text/html',
    refusals: [],
    async handle(_input, needs, call) {
      const facts = await pageFacts(needs, call)
      const tongue = tongueOf(call.headers['accept-language'])
      const { plans, pay, builtPage } = needs
      return page(builtPage, {
        title: 'Plans',
        language: tongue.language,
        entry: 'shop/pricing.tsx',
        facts,
        content: pricingContent({ ...facts, plans, provider: pay.provider }, tongue),
      })
    },
  }),
  route({
    method: 'GET',
    path: '/orders/{id}',
    title: 'Your order',
    about: 'The state of an order and its key, for people.',
    input: Type.Object({ id: orderIdField }),
    output: 'text/html',
    refusals: ['not_found'],
    async handle({ id }, needs, call) {
      if (!isOrderId(id)) throw unknownOrder()
      const facts = await pageFacts(needs, call)
      const tongue = tongueOf(call.headers['accept-language'])
      return page(needs.builtPage, {
        title: 'Your order',
        language: tongue.language,
        entry: 'shop/order.tsx',
        facts,
        content: orderContent(id, facts, tongue),
      })
    },
  }),
]
