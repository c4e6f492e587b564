import { Type } from 'typebox'
import { nextField, pageFields, readCreatedPage } from '../http/server/admin-list.ts'
import { adminRoute } from '../http/server/admin-route.ts'
import type { ServerDeps } from '../http/server/deps.ts'
import { success } from '../http/server/response.ts'
import {
  countField,
  named,
  nullable,
  nullableTimeFields,
  successSchema,
} from '../http/server/schemas.ts'
import { orderJson } from './order.ts'
import type { OrderStore } from './store.ts'

interface OrderAdminDeps extends ServerDeps {
  shop: OrderStore
}

const text = (example: string) => Type.String({ examples: [example] })

const orderSchema = named('AdminOrder', {
  id: text('ord_…'),
  provider: text('stripe'),
  mode: text('live'),
  plan: text('starter'),
  price_cents: countField(500),
  currency: text('usd'),
  state: text('paid'),
  email: nullable(text('a…@buyer.example')),
  payments: countField(1),
  partly_returned: Type.Boolean(),
  key_id: nullable(text('key_…')),
  key_prefix: nullable(text('mf_live_abcd')),
  checkout: nullable(Type.String()),
  subscription: nullable(Type.String()),
  ...nullableTimeFields('created_at'),
  ...nullableTimeFields('paid_until'),
  ...nullableTimeFields('claimed_at'),
})

export const orderAdminRoutes = [
  adminRoute({
    method: 'GET',
    path: '/orders',
    title: 'Orders',
    description:
      'Orders, newest first, with masked e-mail addresses; of one order, the whole address.',
    input: Type.Object({
      id: Type.Optional(Type.String({ description: 'Only this order.' })),
      ...pageFields,
    }),
    output: successSchema({ orders: Type.Array(orderSchema), next: nextField }),
    async handle({ id, ...page }, { shop }: OrderAdminDeps) {
      if (id !== undefined) {
        const order = await shop.readOrder(id)
        const orders = order ? [{ ...orderJson(order), email: order.email ?? null }] : []
        return success({ orders, next: null })
      }
      const { entries, next } = await readCreatedPage(page, shop.listOrders)
      return success({ orders: entries.map(orderJson), next })
    },
  }),
]
