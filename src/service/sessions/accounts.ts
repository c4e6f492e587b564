import type { Address } from '../../core/address.ts'
import {
  type AccountHealth,
  type AccountRules,
  type GmailAccount,
  maskAccountEmail,
} from '../../core/gmail.ts'
import type { MailStore } from '../../store/store.ts'

export interface AccountsDeps {
  store: Pick<MailStore, 'listAccounts'>
  /** Of the accounts that the operator's file has switched on. */
  accountRules: readonly AccountRules[]
  now(): Date
}

/** The accounts as the operator's commands see them. */
export interface AccountAdminDeps {
  store: Pick<MailStore, 'listAccounts' | 'setAccountActive' | 'findAliases'>
  /** Everything that stands in the file, but the secrets. */
  file: readonly ConfiguredAccount[]
  now(): Date
  randomBytes(count: number): Uint8Array
}

export interface ConfiguredAccount extends AccountRules {
  /** The file's own switch; the operator's commands have another. */
  active: boolean
}

export interface ActiveAccount extends GmailAccount {
  rules: AccountRules
}

/** Those whose aliases are given out: they stand in the file, and nobody switched them off, there or by command. */
export async function activeAccounts({
  store,
  accountRules,
  now,
}: AccountsDeps): Promise<ActiveAccount[]> {
  if (accountRules.length === 0) return []
  const known = await store.listAccounts(now())
  return known.flatMap((account) => {
    const rules = accountRules.find(({ email }) => email === account.email)
    return rules && account.active ? [{ ...account, rules }] : []
  })
}

/** What of the file the doors go by. */
export function accountRules(file: readonly ConfiguredAccount[]): AccountRules[] {
  return file
    .filter(({ active }) => active)
    .map(({ email, dots, masked }) => ({ email, dots, masked }))
}

/** The address as strangers may see it. */
export function displayEmail({ email, rules }: { email: Address; rules: AccountRules }): string {
  return rules.masked ? maskAccountEmail(email) : email
}

/** How one account is doing, for the operator. */
interface AccountStatus {
  id: number
  email: string
  health: AccountHealth
  reason: string
  aliases: number
}

/** How each account that is offered is doing. */
export async function accountStatuses(deps: AccountsDeps): Promise<AccountStatus[]> {
  return (await activeAccounts(deps)).map((account) => {
    const { id, health, reason, aliases } = account
    return { id, email: displayEmail(account), health, reason, aliases }
  })
}

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
