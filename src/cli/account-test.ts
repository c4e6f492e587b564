import type { Address } from '../core/address.ts'
import { DOT_BYTES, dotAliases, plusAlias, randomTag } from '../core/gmail.ts'
import { printable } from '../core/printable.ts'
import { asError } from '../core/problem.ts'
import type { AccountBook } from '../service/sessions/accounts.ts'
import { filedAccount } from './account.ts'
import { type Print, Refused } from './refused.ts'
import { table } from './table.ts'

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
  book: AccountBook,
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
  book: AccountBook,
  trial: AliasTrial,
  email: Address,
  print: Print,
): Promise<void> {
  const aliases = await trialAliases(book, email)
  print(`Sending one mail each to ${aliases.join(' and ')}, and waiting for them …`)
  const arrived = await trial(email, aliases).catch((error: unknown) => {
    throw new Refused(printable(asError(error).message), 1, { cause: error })
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
async function trialAliases(book: AccountBook, email: Address): Promise<Address[]> {
  const { store, now, randomBytes } = book
  const known = (await store.listAccounts(now())).find((account) => account.email === email)
  const dots = dotAliases(email, randomBytes(DOT_BYTES), DRAWS)
  const held = known ? await store.findAliases(known.id, dots, now()) : []
  const dot = dots.find((alias) => !held.some(({ address }) => address === alias))
  const plus = plusAlias(email, randomTag(email, randomBytes))
  return [dot, plus].filter((alias) => alias !== undefined)
}
