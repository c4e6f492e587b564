import { Type } from 'typebox'
import { isOrderId, unknownOrder } from '../../../service/shop/order.ts'
import { orderIdField } from '../../api/shop-schemas.ts'
import { type Route, route } from '../../server/route.ts'
import { page } from '../page.ts'
import { pageFacts } from '../page-facts.ts'
import { localeOf } from '../plain-locale.ts'
import { orderContent, pricingContent } from '../shop-pages.ts'

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
    async handle(_input, deps, call) {
      const facts = await pageFacts(deps, call)
      const locale = localeOf(call.headers['accept-language'])
      const { plans, pay, builtPage } = deps
      return page(builtPage, {
        title: 'Plans',
        language: locale.language,
        entry: 'shop/pricing.tsx',
        facts,
        content: pricingContent({ ...facts, plans, provider: pay.provider }, locale),
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
    async handle({ id }, deps, call) {
      if (!isOrderId(id)) throw unknownOrder()
      const facts = await pageFacts(deps, call)
      const locale = localeOf(call.headers['accept-language'])
      return page(deps.builtPage, {
        title: 'Your order',
        language: locale.language,
        entry: 'shop/order.tsx',
        facts,
        content: orderContent(id, facts, locale),
      })
    },
  }),
]
