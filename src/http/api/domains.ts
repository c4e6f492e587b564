import { Type } from 'typebox'
import { activeAccounts, displayEmail } from '../../service/sessions/accounts.ts'
import { sessionDomains } from '../../service/sessions/domains.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import { successField } from './schemas.ts'

export const domainsRoute = route({
  method: 'GET',
  path: '/api/domains',
  title: 'Mail domains',
  about: 'The mail domains and Gmail accounts available for new addresses.',
  input: Type.Object({}),
  output: Type.Object({
    status: successField,
    domains: Type.Array(
      Type.Object({
        id: Type.Integer({ examples: [1] }),
        domain: Type.String({ examples: ['mayfly.example'] }),
      }),
    ),
    gmail_accounts: Type.Array(
      Type.Object({
        id: Type.Integer({ examples: [1] }),
        email: Type.String({ examples: ['someone@gmail.com'] }),
      }),
    ),
  }),
  problems: [],
  async handle(_input, deps) {
    const domains = await sessionDomains(deps)
    const accounts = await activeAccounts(deps)
    return success({
      domains: domains.map(({ id, name }) => ({ id, domain: name })),
      gmail_accounts: accounts.map((account) => ({ id: account.id, email: displayEmail(account) })),
    })
  },
})
