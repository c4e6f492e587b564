import { type Address, maskAccountEmail, parseAddress } from '../base/address.ts'
import type { ConfiguredAccount, GmailAccount } from './rules.ts'
import type { AccountStore } from './store.ts'

export interface AccountsDeps {
  store: Pick<AccountStore, 'listAccounts'>
  /** Accounts of the operator's file. */
  gmailAccounts: readonly ConfiguredAccount[]
  now(): Date
}

/** For the operator's commands. */
export interface AccountAdminDeps extends AccountsDeps {
  store: Pick<AccountStore, 'listAccounts' | 'setAccountActive' | 'findAliases'>
  randomBytes(count: number): Uint8Array
}

export interface ActiveAccount extends GmailAccount {
  rules: ConfiguredAccount
}

/** Accounts whose aliases are assigned: in the file, and switched off neither there nor by a command. */
export async function activeAccounts(deps: AccountsDeps): Promise<ActiveAccount[]> {
  const file = deps.gmailAccounts.filter(({ active }) => active)
  if (file.length === 0) return []
  const known = await deps.store.listAccounts(deps.now())
  return known.flatMap((account) => {
    const rules = file.find(({ email }) => email === account.email)
    return rules && account.active ? [{ ...account, rules }] : []
  })
}

/** The address as shown to the public. */
export function displayEmail({
  email,
  rules,
}: {
  email: Address
  rules: ConfiguredAccount
}): string {
  return rules.masked ? maskAccountEmail(email) : email
}

/** So that no route and no command can show them. */
export function withoutSecrets(file: readonly ConfiguredAccount[]): ConfiguredAccount[] {
  return file.map(({ email, dots, masked, active }) => ({ email, dots, masked, active }))
}

/**
 * At each start: adds accounts of the operator's file that are not known yet. Never removes one, so that its id and its aliases
 * stay assigned. Their health is reported by the node that fetches from them.
 */
export async function addConfiguredAccounts(
  { store }: { store: Pick<AccountStore, 'addAccount'> },
  file: readonly Pick<ConfiguredAccount, 'email'>[],
): Promise<void> {
  for (const { email } of file) await store.addAccount(email)
}

/** By id or address. */
export async function knownAccount(
  { store, now }: Pick<AccountsDeps, 'store' | 'now'>,
  name: string,
): Promise<GmailAccount | undefined> {
  const email = parseAddress(name)
  return (await store.listAccounts(now())).find(
    (one) => one.email === email || String(one.id) === name,
  )
}

/** An account as the operator sees it. */
export interface AccountRow {
  /** Null until the service has started with it. */
  id: number | null
  email: string
  offered: boolean
  /** Why it is not offered. */
  hindrance: string | null
  /** Null if it is not offered. */
  health: string | null
  reason: string | null
  aliases: number
}

export async function accountRows({
  store,
  gmailAccounts: file,
  now,
}: AccountsDeps): Promise<AccountRow[]> {
  const known = await store.listAccounts(now())
  const added = file.filter(({ email }) => !known.some((account) => account.email === email))
  const hindrance = 'new: restart the service to use it'
  const unused = { offered: false, hindrance, health: null, reason: null, aliases: 0 }
  return [
    ...known.map((account) => rowOf(account, file)),
    ...added.map(({ email }) => ({ id: null, email, ...unused })),
  ]
}

function rowOf(account: GmailAccount, file: readonly ConfiguredAccount[]): AccountRow {
  const { id, email, active, health, reason, aliases } = account
  const hindrance = configHindrance(file, email) ?? (active ? null : 'deactivated')
  const offered = hindrance === null
  const state = offered ? { health, reason } : { health: null, reason: null }
  return { id, email, offered, hindrance, ...state, aliases }
}

/** What in the operator's file keeps the account from being used. */
export function configHindrance(
  file: readonly ConfiguredAccount[],
  email: string,
): string | undefined {
  const account = file.find((one) => one.email === email)
  if (!account) return 'not in the accounts file'
  return account.active ? undefined : 'inactive in the accounts file'
}
