import { Type } from 'typebox'
import { Problem } from '../base/problem.ts'
import { adminRoute } from '../http/server/admin-route.ts'
import type { ServerDeps } from '../http/server/deps.ts'
import { success } from '../http/server/response.ts'
import {
  countField,
  messageSchema,
  named,
  nullable,
  successSchema,
} from '../http/server/schemas.ts'
import { accountRows } from './accounts.ts'
import type { ConfiguredAccount } from './rules.ts'
import type { AccountStore } from './store.ts'

export interface AccountRouteDeps extends ServerDeps {
  store: AccountStore
  /** The operator's file, without the secrets. */
  gmailAccounts: readonly ConfiguredAccount[]
}

export const accountRoutes = [
  adminRoute({
    method: 'GET',
    path: '/accounts',
    title: 'Gmail accounts',
    description: 'Gmail accounts and their health, without their secrets.',
    output: successSchema({
      accounts: Type.Array(
        named('AdminAccount', {
          id: nullable(countField(1), 'Null until the service has started with it.'),
          email: Type.String({ examples: ['someone@gmail.com'] }),
          offered: Type.Boolean({ description: 'Whether its aliases are offered.' }),
          hindrance: nullable(Type.String(), 'Why it is not offered.'),
          health: nullable(Type.String({ examples: ['ok'] })),
          reason: nullable(Type.String()),
          aliases: countField(12),
        }),
      ),
    }),
    async handle(_input, deps: AccountRouteDeps) {
      return success({ accounts: await accountRows(deps) })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/accounts/change',
    title: 'Activate or deactivate an account',
    description: 'An inactive account is not offered, and its mail is not fetched.',
    input: Type.Object({
      id: Type.Integer({ minimum: 1, description: 'The id of the account.' }),
      active: Type.Boolean(),
    }),
    output: messageSchema,
    problems: ['not_found'],
    async handle({ id, active }, { store }: AccountRouteDeps) {
      if (!(await store.setAccountActive(id, active))) {
        throw new Problem('not_found', 'No such account.')
      }
      return success({ message: active ? 'Account activated.' : 'Account deactivated.' })
    },
  }),
]
