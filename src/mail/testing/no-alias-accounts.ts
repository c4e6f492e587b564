import { aliasesUnavailable } from '../rules/alias.ts'
import type { AliasAccounts } from '../sessions/alias-accounts.ts'

export const NO_ALIAS_ACCOUNTS: AliasAccounts = {
  list: async () => [],
  async findAliases() {
    throw aliasesUnavailable()
  },
}
