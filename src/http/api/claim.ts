import { Type } from 'typebox'
import { timestampFields } from '../../core/time.ts'
import { claimKey } from '../../service/shop/order.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import {
  CLAIM_SECRET_HEADER,
  claimSecretOf,
  orderIdField,
  planFields,
  planJson,
} from './order-schemas.ts'
import { countField, expiryFields, nullable, successField } from './schemas.ts'

export const claimRoute = route({
  method: 'POST',
  path: '/api/orders/{id}/claim',
  title: 'Claim the key',
  about:
    'Creates the key of a paid order and returns it. Only its hash is stored: a repeated call within 24 hours of the first returns a new key and revokes the previous one at once. The claim secret is sent in the Claim-Secret header.',
  input: Type.Object({ id: orderIdField }),
  output: Type.Object({
    status: successField,
    ...planFields,
    key: Type.String({ examples: ['45 characters, to be kept secret'] }),
    key_id: Type.String({ examples: ['key_1uQmB0cZ7yR5tVd9KfXw3e'] }),
    prefix: Type.String({ examples: ['mf_live_a1B2'] }),
    requests: countField(100_000),
    per_day: nullable(countField(1_000), 'Null: no daily limit.'),
    ...expiryFields,
  }),
  requestHeaders: [CLAIM_SECRET_HEADER],
  problems: ['missing_parameter', 'not_found', 'order_unpaid', 'order_stopped', 'already_claimed'],
  async handle({ id }, deps, request) {
    const { order, key, secret } = await claimKey(deps, id, claimSecretOf(id, request))
    return success({
      ...planJson(order),
      key: secret,
      key_id: key.id,
      prefix: key.prefix,
      requests: key.maxRequests,
      per_day: key.maxPerDay ?? null,
      ...timestampFields('expires_at', key.expiresAt),
    })
  },
})
