import type { Address } from '../base/address.ts'
import { Problem } from '../base/problem.ts'
import type { AliasAccounts, Candidate } from '../mail/sessions/alias-accounts.ts'
import {
  type AccountsDeps,
  type ActiveAccount,
  activeAccounts,
  displayEmail,
  withoutSecrets,
} from './accounts.ts'
import {
  chooseAccount,
  DOT_ALIAS_RANDOM_BYTES,
  dotAliases,
  maxTagLength,
  plusAlias,
  randomTag,
} from './rules.ts'

interface AliasDeps extends AccountsDeps {
  randomBytes(count: number): Uint8Array
}

/** What routes know of the accounts. */
export function openAccountDeps({
  config,
  ...parts
}: Omit<AliasDeps, 'gmailAccounts'> & { config: Pick<AccountsDeps, 'gmailAccounts'> }) {
  const gmailAccounts = withoutSecrets(config.gmailAccounts)
  return { gmailAccounts, aliasAccounts: openAliasAccounts({ ...parts, gmailAccounts }) }
}

export function openAliasAccounts(deps: AliasDeps): AliasAccounts {
  return {
    async list() {
      const accounts = await activeAccounts(deps)
      return accounts.map((account) => ({ id: account.id, email: displayEmail(account) }))
    },
    async findAliases({ prefix, ...request }) {
      const offered = await activeAccounts(deps)
      const account = chooseAccount(offered, request)
      const accounts = new Set(offered.map(({ email }) => email))
      const addresses =
        prefix === undefined
          ? randomAliases(account, accounts, deps.randomBytes)
          : [{ address: taggedAlias(account.email, prefix), isRandom: false }]
      return { accountId: account.id, addresses }
    },
  }
}

function taggedAlias(account: Address, prefix: string): Address {
  const alias = plusAlias(account, prefix)
  if (alias) return alias
  const room = maxTagLength(account)
  throw new Problem('invalid_prefix', `prefix: use at most ${room} characters with this account.`)
}

// Names with more than five letters have more spellings than that; if this many are taken, most others are, too.
const DOT_FORMS = 16
// With 40 random bits, repeated collisions mean a broken random generator.
const RANDOM_ATTEMPTS = 5

/** Dot aliases first if the account supports them, then tags. */
function* randomAliases(
  { email, rules }: ActiveAccount,
  accounts: ReadonlySet<Address>,
  randomBytes: AliasDeps['randomBytes'],
): Generator<Candidate> {
  if (rules.dots) {
    for (const alias of dotAliases(email, randomBytes(DOT_ALIAS_RANDOM_BYTES), DOT_FORMS)) {
      // The operator may have listed the same inbox in two spellings.
      if (!accounts.has(alias)) yield { address: alias, isRandom: false }
    }
  }
  for (let attempt = 0; attempt < RANDOM_ATTEMPTS; attempt += 1) {
    const alias = plusAlias(email, randomTag(email, randomBytes))
    if (!alias) throw new Error('the account name leaves no room for a random tag')
    yield { address: alias, isRandom: true }
  }
}
