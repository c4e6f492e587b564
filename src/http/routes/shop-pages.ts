import { Type } from 'typebox'
import { isOrderId, unknownOrder } from '../../service/order.ts'
import { type Route, route } from '../route.ts'
import { orderPage, pricingPage } from '../shop-pages.ts'
import { orderIdField } from '../shop-shapes.ts'
import { siteUrl } from '../site.ts'

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
    async handle(_input, { plans, pay, baseUrl, receipts }, { headers }) {
      const site = siteUrl(baseUrl, headers.host)
      return pricingPage({ plans, provider: pay.provider, receipts, site })
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
    async handle({ id }, { baseUrl }, { headers }) {
      if (!isOrderId(id)) throw unknownOrder()
      return orderPage(id, siteUrl(baseUrl, headers.host))
    },
  }),
]
