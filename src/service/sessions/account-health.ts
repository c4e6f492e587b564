import type { AccountHealth } from '../../core/gmail.ts'
import { type AccountsNeeds, offeredAccounts, shownEmail } from './accounts.ts'

/** How one account is doing, for the operator. */
export interface HealthNote {
  id: number
  email: string
  health: AccountHealth
  reason: string
  aliases: number
}

/** How each account that is offered is doing. */
export async function accountHealth(needs: AccountsNeeds): Promise<HealthNote[]> {
  return (await offeredAccounts(needs)).map((account) => {
    const { id, health, reason, aliases } = account
    return { id, email: shownEmail(account), health, reason, aliases }
  })
}
