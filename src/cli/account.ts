import type { Command } from 'commander'
import { type Address, parseAddress } from '../core/address.ts'
import {
  DOT_ALIAS_RANDOM_BYTES,
  dotAliases,
  type GmailAccount,
  plusAlias,
  randomTag,
} from '../core/gmail.ts'
import { toError } from '../core/problem.ts'
import { printable } from '../core/text.ts'
import type { AccountAdminDeps, ConfiguredAccount } from '../service/sessions/accounts.ts'
import { type Print, Refused, table } from './output.ts'

/** `mayfly account list` */
export async function printAccounts(
  book: AccountAdminDeps,
  { json }: { json?: boolean },
  print: Print,
): Promise<void> {
  const lines = await listed(book)
  if (json) print(JSON.stringify(lines, null, 2))
  else if (lines.length === 0) {
    print('No accounts yet. Name them in the file of MAYFLY_GMAIL_ACCOUNTS_FILE: see docs/gmail.md')
  } else for (const line of accountTable(lines)) print(line)
}

/** `mayfly account activate` and `deactivate` */
export async function setAccountActive(
  book: AccountAdminDeps,
  { name, active }: { name: string; active: boolean },
  print: Print,
): Promise<void> {
  const { id, email } = await knownAccount(book, name)
  await book.store.setAccountActive(id, active)
  if (!active) print(`${email} is not active: nobody gets an alias of it, and no mail is fetched.`)
  else {
    const hindrance = fileHindrance(book.file, email)
    print(hindrance ? `${email} is switched on, but ${hindrance}.` : `${email} is active.`)
  }
}

/** The account of the file that is meant by its id or its address. */
export async function filedAccount(
  book: AccountAdminDeps,
  name: string,
): Promise<ConfiguredAccount> {
  const email = /^\d+$/.test(name) ? (await knownAccount(book, name)).email : parseAddress(name)
  const account = book.file.find((one) => one.email === email)
  if (account) return account
  throw new Refused(`${quoted(name)} is no account of the file. See: mayfly account list`)
}

async function knownAccount({ store, now }: AccountAdminDeps, name: string): Promise<GmailAccount> {
  const email = parseAddress(name)
  const account = (await store.listAccounts(now())).find(
    (one) => one.email === email || String(one.id) === name,
  )
  if (account) return account
  throw new Refused(`No account is ${quoted(name)}. See: mayfly account list`)
}

interface Line {
  /** Null until the service has started with it. */
  id: number | null
  email: string
  offered: boolean
  /** Why it is not. */
  hindrance: string | null
  /** How it is, where it is offered. */
  health: string | null
  reason: string | null
  aliases: number
}

async function listed({ store, file, now }: AccountAdminDeps): Promise<Line[]> {
  const known = await store.listAccounts(now())
  const added = file.filter(({ email }) => !known.some((account) => account.email === email))
  return [
    ...known.map((account) => lineOf(account, file)),
    ...added.map(({ email }) => ({
      id: null,
      email,
      offered: false,
      hindrance: 'the service has not started with it yet',
      health: null,
      reason: null,
      aliases: 0,
    })),
  ]
}

function lineOf(account: GmailAccount, file: readonly ConfiguredAccount[]): Line {
  const { id, email, active, health, reason, aliases } = account
  const hindrance = fileHindrance(file, email) ?? (active ? null : 'it is switched off')
  const offered = hindrance === null
  const state = offered ? { health, reason } : { health: null, reason: null }
  return { id, email, offered, hindrance, ...state, aliases }
}

function fileHindrance(file: readonly ConfiguredAccount[], email: string): string | undefined {
  const account = file.find((one) => one.email === email)
  if (!account) return 'it does not stand in the file'
  return account.active ? undefined : 'it is not active in the file'
}

function accountTable(lines: readonly Line[]): string[] {
  const rows = lines.map((line) => [
    line.id === null ? '-' : String(line.id),
    line.email,
    line.offered ? 'yes' : 'no',
    line.health ?? '-',
    String(line.aliases),
    printable(line.hindrance ?? line.reason ?? ''),
  ])
  return table([['ID', 'ADDRESS', 'OFFERED', 'HEALTH', 'ALIASES', 'REASON'], ...rows])
}

function quoted(name: string): string {
  return JSON.stringify(printable(name))
}

export interface AccountActions extends AccountTestActions {
  withAccounts(operation: (book: AccountAdminDeps) => Promise<void>): Promise<void>
}

export function addAccountCommands(account: Command, actions: AccountActions, print: Print): void {
  const { withAccounts } = actions
  account.addHelpText('after', '\nan account is named by its id or its address')
  account
    .command('list')
    .description('print them and how they are doing')
    .option('--json', 'as JSON')
    .action((options: { json?: boolean }) =>
      withAccounts((book) => printAccounts(book, options, print)),
    )
  account
    .command('test <account>')
    .description('log in and print what the server can do')
    .option('--send', 'also send a mail to a dot form and one to a plus form, and look for them')
    .action((name: string, options: { send?: boolean }) =>
      withAccounts((book) => testAccount(book, actions, { name, ...options }, print)),
    )
  account
    .command('activate <account>')
    .description('give out its aliases again, and fetch its mail')
    .action((name: string) =>
      withAccounts((book) => setAccountActive(book, { name, active: true }, print)),
    )
  account
    .command('deactivate <account>')
    .description('give out none for now, and fetch no mail')
    .action((name: string) =>
      withAccounts((book) => setAccountActive(book, { name, active: false }, print)),
    )
}

export interface AccountTestActions {
  /** Logs in, looks round and leaves. */
  testAccount(email: Address): Promise<AccountTest>
  /** Undefined: no mail server is set that would send the mails. */
  aliasTrial(): AliasTrial | undefined
}

export type AccountTest =
  | { ok: false; reason: string }
  | {
      ok: true
      folders: readonly { name: string }[]
      spam: string | undefined
      trash: string | undefined
      idle: boolean
      gmail: boolean
    }

/** Sends a mail to each of these, and waits for them as for any mail of the account's aliases. */
export type AliasTrial = (email: Address, aliases: readonly Address[]) => Promise<Arrival[]>

export interface Arrival {
  alias: Address
  folder: string
  /** The header fields that hold the alias as it was written. */
  headers: readonly string[]
}

/** `mayfly account test`: whether the login is good, and what the server can do. */
export async function testAccount(
  book: AccountAdminDeps,
  actions: AccountTestActions,
  { name, send = false }: { name: string; send?: boolean },
  print: Print,
): Promise<void> {
  const { email } = await filedAccount(book, name)
  const trial = send ? actions.aliasTrial() : undefined
  if (send && !trial) throw new Refused('--send needs a mail server: set MAYFLY_MAIL_OUT.', 2)
  const test = await actions.testAccount(email)
  if (!test.ok) throw new Refused(`${email}: ${printable(test.reason)}`)
  for (const line of table(foundRows(email, test))) print(printable(line))
  if (trial) await tryAliases(book, trial, email, print)
}

function foundRows(email: Address, test: AccountTest & { ok: true }): string[][] {
  const { folders, spam, trash, idle, gmail } = test
  return [
    ['Login', `${email}: the server accepts it`],
    ['Folders', folders.map(({ name }) => name).join(', ')],
    ['Spam', spam ?? 'no folder is marked as that: only INBOX is looked at'],
    ['Trash', trash ?? 'no folder is marked as that: delete_after_fetch cannot be done'],
    ['IDLE', idle ? 'yes: new mail is told at once' : 'no: new mail is found by looking'],
    ['Gmail ids', gmail ? 'yes' : 'no: mail is known by Message-ID, size and date'],
  ]
}

async function tryAliases(
  book: AccountAdminDeps,
  trial: AliasTrial,
  email: Address,
  print: Print,
): Promise<void> {
  const aliases = await trialAliases(book, email)
  print(`Sending one mail each to ${aliases.join(' and ')}, and waiting for them …`)
  const arrived = await trial(email, aliases).catch((error: unknown) => {
    throw new Refused(printable(toError(error).message), 1, { cause: error })
  })
  const rows = aliases.map((alias) => {
    const found = arrived.find((one) => one.alias === alias)
    if (!found) return [alias, 'was not met: it has not arrived, or no header keeps this form']
    const headers = found.headers.join(', ')
    return [alias, `arrived in ${found.folder}; kept in ${headers}`]
  })
  for (const line of table(rows)) print(printable(line))
  if (arrived.length < aliases.length) throw new Refused('Not all of the forms can be given out.')
}

const DRAWS = 16

/** A dot form, where the name has any that is nobody's alias right now, and a plus form. */
async function trialAliases(book: AccountAdminDeps, email: Address): Promise<Address[]> {
  const { store, now, randomBytes } = book
  const known = (await store.listAccounts(now())).find((account) => account.email === email)
  const dots = dotAliases(email, randomBytes(DOT_ALIAS_RANDOM_BYTES), DRAWS)
  const held = known ? await store.findAliases(known.id, dots, now()) : []
  const dot = dots.find((alias) => !held.some(({ address }) => address === alias))
  const plus = plusAlias(email, randomTag(email, randomBytes))
  return [dot, plus].filter((alias) => alias !== undefined)
}
