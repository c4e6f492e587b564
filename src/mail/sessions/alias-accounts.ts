import type { Address } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'

/** Accounts at another mail service whose aliases are addresses of sessions. */
export interface AliasAccounts {
  /** Those whose aliases are assigned, with their addresses as shown to the public. */
  list(): Promise<{ id: number; email: string }[]>
  /** Throws Problem if no account, or not the requested one, is available. */
  findAliases(request: AliasRequest): Promise<{ accountId: number; addresses: Iterable<Candidate> }>
}

export interface AliasRequest {
  /** Any account: the one with the fewest aliases. */
  auto: boolean
  gmailId: number | undefined
  domainId: number | undefined
  prefix: string | undefined
}

export interface Candidate {
  address: Address
  /** Drawn from so many that nobody can have had it. */
  isRandom: boolean
}

export const NO_ALIASES: AliasAccounts = {
  list: async () => [],
  async findAliases() {
    throw new Problem('gmail_unavailable', 'This service has no Gmail accounts.')
  },
}
