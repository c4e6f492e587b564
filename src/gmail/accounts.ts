import { type Address, parseAddress } from '../base/address.ts'
import { type AccountRules, type GmailAccount, maskAccountEmail } from './rules.ts'
import type { AccountStore } from './store.ts'

export interface AccountsDeps {
  store: Pick<AccountStore, 'listAccounts'>
  /** Rules of the accounts that are active in the operator's file. */
  accountRules: readonly AccountRules[]
  now(): Date
}

/** For the operator's commands. */
export interface AccountAdminDeps {
  store: Pick<AccountStore, 'listAccounts' | 'setAccountActive' | 'findAliases'>
  /** The operator's file, without the secrets. */
  file: readonly ConfiguredAccount[]
  now(): Date
  randomBytes(count: number): Uint8Array
}

export interface ConfiguredAccount extends AccountRules {
  /** In the file; the operator's commands have a switch of their own. */
  active: boolean
}

export interface ActiveAccount extends GmailAccount {
  rules: AccountRules
}

/** Accounts whose aliases are assigned: in the file, and switched off neither there nor by a command. */
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

/** The rules of the accounts that are active in the file. */
export function accountRules(file: readonly ConfiguredAccount[]): AccountRules[] {
  return file
    .filter(({ active }) => active)
    .map(({ email, dots, masked }) => ({ email, dots, masked }))
}

/** The address as shown to the public. */
export function displayEmail({ email, rules }: { email: Address; rules: AccountRules }): string {
  return rules.masked ? maskAccountEmail(email) : email
}

export async function accountStatuses(deps: AccountsDeps) {
  return (await activeAccounts(deps)).map((account) => {
    const { id, health, reason, aliases } = account
    return { id, email: displayEmail(account), health, reason, aliases }
  })
}

/**
 * At each start: adds accounts of the operator's file that are not known yet. Never removes one, so that its id and its aliases
 * stay assigned. Their health is reported by the node that fetches from them.
 */
export async function addConfiguredAccounts(
  { store }: { store: Pick<AccountStore, 'addAccount'> },
  file: readonly Pick<AccountRules, 'email'>[],
): Promise<void> {
  for (const { email } of file) await store.addAccount(email)
}

/** By id or address. */
export async function knownAccount(
  { store, now }: Pick<AccountAdminDeps, 'store' | 'now'>,
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
  file,
  now,
}: Omit<AccountAdminDeps, 'randomBytes'>): Promise<AccountRow[]> {
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
