import { Type } from 'typebox'
import { Problem } from '../base/problem.ts'
import { nextField, pageFields, readCreatedPage } from '../http/server/admin-list.ts'
import { adminRoute } from '../http/server/admin-route.ts'
import type { ServerDeps } from '../http/server/deps.ts'
import { success } from '../http/server/response.ts'
import {
  countField,
  enumField,
  messageSchema,
  named,
  nullable,
  nullableTimeFields,
  successSchema,
} from '../http/server/schemas.ts'
import { keyJson } from './keys.ts'
import type { KeyStore } from './store.ts'

interface KeyAdminDeps extends ServerDeps {
  shop: KeyStore
}

const text = (example: string) => Type.String({ examples: [example] })

const keySchema = named('AdminKey', {
  id: text('key_…'),
  prefix: text('mf_live_abcd'),
  plan: text('starter'),
  label: Type.String(),
  state: enumField(['active', 'stopped', 'revoked']),
  requests: countField(1_000),
  used: countField(12),
  remaining: countField(988),
  per_day: nullable(countField(100)),
  used_today: countField(2),
  remaining_today: nullable(countField(98)),
  domains: countField(1),
  ...nullableTimeFields('created_at'),
  ...nullableTimeFields('expires_at'),
})

/** Anywhere in the text, also one with a typo. */
const WHOLE_KEY = /mf_(?:live|test)_\w{20}/

export const keyAdminRoutes = [
  adminRoute({
    method: 'GET',
    path: '/keys',
    title: 'Keys',
    description: 'All keys, newest first, without their secrets.',
    input: Type.Object({
      find: Type.Optional(
        Type.String({
          description:
            'Only keys with this id, prefix or text in their label. Never a whole key: addresses end up in logs.',
        }),
      ),
      ...pageFields,
    }),
    output: successSchema({ keys: Type.Array(keySchema), next: nextField }),
    async handle({ find: text, ...page }, { shop, now }: KeyAdminDeps) {
      if (text !== undefined && WHOLE_KEY.test(text)) {
        throw new Problem('invalid_parameter', 'find: send the prefix of a key, not the whole key.')
      }
      const one = text === undefined ? undefined : await shop.readKey(text, now())
      if (one) return success({ keys: [keyJson(one)], next: null })
      const { entries, next } = await readCreatedPage(page, (part) =>
        shop.listKeys({ ...part, now: now(), text }),
      )
      return success({ keys: entries.map(keyJson), next })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/keys/revoke',
    title: 'Revoke a key',
    description: 'Revokes a key permanently.',
    input: Type.Object({ id: Type.String({ description: 'The id of the key.' }) }),
    output: messageSchema,
    problems: ['not_found'],
    async handle({ id }, { shop }: KeyAdminDeps) {
      if (!(await shop.revokeKey(id))) throw new Problem('not_found', 'No such key.')
      return success({ message: 'Key revoked.' })
    },
  }),
]
