import { parseAddress } from '../core/address.ts'
import type { GmailAccount } from '../core/gmail.ts'
import { printable } from '../core/printable.ts'
import type { AccountBook, FiledAccount } from '../service/sessions/accounts.ts'
import { type Print, Refused } from './refused.ts'
import { table } from './table.ts'

/** `mayfly account list` */
export async function printAccounts(
  book: AccountBook,
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
export async function switchAccount(
  book: AccountBook,
  { name, active }: { name: string; active: boolean },
  print: Print,
): Promise<void> {
  const { id, email } = await knownAccount(book, name)
  await book.store.switchAccount(id, active)
  if (!active) print(`${email} is not active: nobody gets an alias of it, and no mail is fetched.`)
  else {
    const hindrance = fileHindrance(book.file, email)
    print(hindrance ? `${email} is switched on, but ${hindrance}.` : `${email} is active.`)
  }
}

/** The account of the file that is meant by its id or its address. */
export async function filedAccount(book: AccountBook, name: string): Promise<FiledAccount> {
  const email = /^\d+$/.test(name) ? (await knownAccount(book, name)).email : parseAddress(name)
  const account = book.file.find((one) => one.email === email)
  if (account) return account
  throw new Refused(`${quoted(name)} is no account of the file. See: mayfly account list`)
}

async function knownAccount({ store, now }: AccountBook, name: string): Promise<GmailAccount> {
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

async function listed({ store, file, now }: AccountBook): Promise<Line[]> {
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

function lineOf(account: GmailAccount, file: readonly FiledAccount[]): Line {
  const { id, email, active, health, reason, aliases } = account
  const hindrance = fileHindrance(file, email) ?? (active ? null : 'it is switched off')
  const offered = hindrance === null
  const state = offered ? { health, reason } : { health: null, reason: null }
  return { id, email, offered, hindrance, ...state, aliases }
}

function fileHindrance(file: readonly FiledAccount[], email: string): string | undefined {
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
