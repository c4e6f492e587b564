import { Type } from 'typebox'
import { findOrder, viewOrder } from '../../service/shop/order.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import {
  CLAIM_SECRET_HEADER,
  claimSecretOf,
  orderFields,
  orderIdField,
  orderJson,
} from './order-schemas.ts'
import { successField } from './schemas.ts'

export const orderRoute = route({
  method: 'GET',
  path: '/api/orders/{id}',
  title: 'State of an order',
  about:
    'Returns whether the order is paid and whether its key can be claimed. The claim secret is sent in the Claim-Secret header.',
  input: Type.Object({ id: orderIdField }),
  output: Type.Object({ status: successField, ...orderFields }),
  requestHeaders: [CLAIM_SECRET_HEADER],
  problems: ['missing_parameter', 'not_found'],
  async handle({ id }, deps, request) {
    const order = await findOrder(deps, id, claimSecretOf(id, request))
    return success(orderJson(await viewOrder(deps, order)))
  },
})
