import { Problem } from '../../base/problem.ts'
import type { AliasAccounts } from '../sessions/alias-accounts.ts'

export const NO_ALIAS_ACCOUNTS: AliasAccounts = {
  list: async () => [],
  async findAliases() {
    throw new Problem('gmail_unavailable', 'No Gmail account is available at the moment.')
  },
}
