import type { AccountRules } from '../../core/gmail.ts'
import type { MailStore } from '../../store/store.ts'

/**
 * At each start: adds the accounts of the operator's file that are not yet known. Never removes one: it keeps its id, and
 * its aliases their owners. How each is doing is told by whoever fetches from it, which may be another node.
 */
export async function addConfiguredAccounts(
  { store }: { store: Pick<MailStore, 'addAccount'> },
  file: readonly Pick<AccountRules, 'email'>[],
): Promise<void> {
  for (const { email } of file) await store.addAccount(email)
}
