import { Type } from 'typebox'
import { Problem } from '../../../core/problem.ts'
import { fakeOrder, OUTCOMES, payFake } from '../../../service/shop/pay-fake.ts'
import { orderIdField } from '../../api/shop-schemas.ts'
import { empty } from '../../server/response.ts'
import { type Route, route } from '../../server/route.ts'
import { page } from '../page.ts'
import { pageFacts } from '../page-facts.ts'
import { localeOf } from '../plain-locale.ts'
import { fakePayContent } from '../shop-pages.ts'

/** The pay page of the test shop, and what its buttons do. */
export const fakePayRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/pay/{id}',
    title: 'Test payment',
    about: 'Where an order of the test shop is paid.',
    input: Type.Object({ id: orderIdField }),
    output: 'text/html',
    refusals: ['not_found'],
    async handle({ id }, deps, call) {
      const order = await fakeOrder(deps, id)
      const facts = await pageFacts(deps, call)
      const locale = localeOf(call.headers['accept-language'])
      return page(deps.builtPage, {
        title: 'Test payment',
        language: locale.language,
        entry: 'shop/pay.tsx',
        facts,
        content: fakePayContent(order, facts, locale),
      })
    },
  }),
  route({
    method: 'POST',
    path: '/pay/{id}',
    title: 'Test payment',
    about: 'Pays an order of the test shop, or fails to, and leads to the order.',
    input: Type.Object({ id: orderIdField, outcome: Type.String() }),
    output: 'text/html',
    refusals: ['not_found'],
    async handle({ id, outcome: wanted }, deps) {
      const outcome = OUTCOMES.find((known) => known === wanted)
      if (!outcome) {
        throw new Problem('invalid_parameter', `outcome: give one of ${OUTCOMES.join(', ')}.`)
      }
      await payFake(deps, id, outcome)
      return empty(303, { location: `/orders/${id}` })
    },
  }),
]
