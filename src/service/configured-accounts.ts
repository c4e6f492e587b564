import type { AccountRules } from '../core/gmail.ts'
import type { MailStore } from '../store/store.ts'

interface Needs {
  store: Pick<MailStore, 'listAccounts' | 'addAccount' | 'reportAccount'>
  now(): Date
}

/**
 * At each start: adds the accounts of the operator's file that are not yet known. Never removes one: it keeps its id, and
 * its aliases their owners. How an account was doing when we stopped tells nothing about now.
 */
export async function addConfiguredAccounts(
  { store, now }: Needs,
  file: readonly Pick<AccountRules, 'email'>[],
): Promise<void> {
  for (const { email } of file) await store.addAccount(email)
  for (const { id } of await store.listAccounts(now())) {
    await store.reportAccount(id, 'starting', '')
  }
}
