import type { Command } from 'commander'
import { type Address, parseAddress } from '../base/address.ts'
import { toError } from '../base/problem.ts'
import { printable } from '../base/text.ts'
import type { CommandContext } from '../cli/context.ts'
import {
  CommandError,
  type JsonOption,
  listTable,
  type Print,
  printJson,
  table,
} from '../cli/output.ts'
import {
  type AccountAdminDeps,
  type AccountRow,
  accountRows,
  configHindrance,
  knownAccount,
  withoutSecrets,
} from './accounts.ts'
import type { AliasTrial } from './alias-test.ts'
import type { testAccount as logIn } from './imap/account.ts'
import {
  type ConfiguredAccount,
  DOT_ALIAS_RANDOM_BYTES,
  dotAliases,
  type GmailAccount,
  plusAlias,
  randomTag,
} from './rules.ts'
import type { AccountSetting } from './settings.ts'

interface Config {
  gmailAccounts: readonly AccountSetting[]
  mailOut: { url: string; from: string }
}

type AccountContext = CommandContext<Config, AccountAdminDeps['store']>

interface AccountProbes {
  testAccount(email: Address): Promise<AccountTest>
  /** Undefined without an outgoing mail server. */
  aliasTrial(): Promise<AliasTrial | undefined>
}

/** Loaded when they are used. */
function openProbes({ config }: AccountContext): AccountProbes {
  return {
    async testAccount(email) {
      const account = config().gmailAccounts.find((one) => one.email === email)
      if (!account) throw new Error(`${email} is not in the accounts file`)
      const { testAccount } = await import('./imap/account.ts')
      return await testAccount(account)
    },
    async aliasTrial() {
      const { openAliasTest } = await import('./alias-test.ts')
      return openAliasTest(config())
    },
  }
}

export type AccountTest = Awaited<ReturnType<typeof logIn>>

export function addAccountCommands(account: Command, context: AccountContext, print: Print): void {
  const withAccounts = (operation: (deps: AccountAdminDeps) => Promise<void>) => {
    const gmailAccounts = withoutSecrets(context.config().gmailAccounts)
    return context.withMail((store) => operation({ ...context, store, gmailAccounts }))
  }
  account.addHelpText('after', '\n<account> is the id or the address of an account.')
  account
    .command('list')
    .description('List accounts and their health')
    .option('--json', 'print JSON')
    .action((options: JsonOption) => withAccounts((deps) => printAccounts(deps, options, print)))
  account
    .command('test <account>')
    .description('Log in and show what the server supports')
    .option('--send', 'also send a message to a dot alias and a plus alias, and wait for both')
    .action((name: string, options: { send?: boolean }) =>
      withAccounts((deps) => testAccount(deps, openProbes(context), { name, ...options }, print)),
    )
  for (const [verb, active, description] of [
    ['activate', true, 'Offer its aliases and fetch its mail again'],
    ['deactivate', false, 'Stop offering its aliases and fetching its mail'],
  ] as const) {
    account
      .command(`${verb} <account>`)
      .description(description)
      .action((name: string) =>
        withAccounts((deps) => setAccountActive(deps, { name, active }, print)),
      )
  }
}

export async function printAccounts(deps: AccountAdminDeps, { json }: JsonOption, print: Print) {
  const rows = await accountRows(deps)
  if (json) printJson(rows, print)
  else if (rows.length === 0) {
    print(
      'No accounts yet. List them in the file named by MAYFLY_GMAIL_ACCOUNTS_FILE; see docs/gmail.md',
    )
  } else for (const line of accountTable(rows)) print(line)
}

export async function setAccountActive(
  deps: AccountAdminDeps,
  { name, active }: { name: string; active: boolean },
  print: Print,
): Promise<void> {
  const { id, email } = await findAccount(deps, name)
  await deps.store.setAccountActive(id, active)
  if (!active)
    print(
      `Deactivated ${email}: its aliases are no longer offered, and its mail is no longer fetched.`,
    )
  else {
    const hindrance = configHindrance(deps.gmailAccounts, email)
    print(hindrance ? `Activated ${email}, but it is ${hindrance}.` : `Activated ${email}.`)
  }
}

export async function findConfiguredAccount(
  deps: AccountAdminDeps,
  name: string,
): Promise<ConfiguredAccount> {
  const email = /^\d+$/.test(name) ? (await findAccount(deps, name)).email : parseAddress(name)
  const account = deps.gmailAccounts.find((one) => one.email === email)
  if (account) return account
  throw new CommandError(`${quoted(name)} is not in the accounts file. See: mayfly account list`)
}

async function findAccount(deps: AccountAdminDeps, name: string): Promise<GmailAccount> {
  const account = await knownAccount(deps, name)
  if (account) return account
  throw new CommandError(`No account matches ${quoted(name)}. See: mayfly account list`)
}

function accountTable(accounts: readonly AccountRow[]): string[] {
  const rows = accounts.map((account) => [
    account.id === null ? '-' : String(account.id),
    account.email,
    account.offered ? 'yes' : 'no',
    account.health ?? '-',
    String(account.aliases),
    account.hindrance ?? account.reason ?? '',
  ])
  return listTable(['ID', 'ADDRESS', 'OFFERED', 'HEALTH', 'ALIASES', 'REASON'], rows)
}

function quoted(name: string): string {
  return JSON.stringify(printable(name))
}

export async function testAccount(
  deps: AccountAdminDeps,
  probes: AccountProbes,
  { name, send = false }: { name: string; send?: boolean },
  print: Print,
): Promise<void> {
  const { email } = await findConfiguredAccount(deps, name)
  const trial = send ? await probes.aliasTrial() : undefined
  if (send && !trial)
    throw new CommandError('--send requires a mail server: set MAYFLY_MAIL_OUT.', 2)
  const test = await probes.testAccount(email)
  if (!test.ok) throw new CommandError(`${email}: ${printable(test.reason)}`)
  for (const line of table(capabilityRows(email, test))) print(printable(line))
  if (trial) await runAliasTrial(deps, trial, email, print)
}

function capabilityRows(email: Address, test: AccountTest & { ok: true }): string[][] {
  const { folders, spam, trash, idle, gmail } = test
  return [
    ['Login', `${email}: accepted`],
    ['Folders', folders.map(({ name }) => name).join(', ')],
    ['Spam', spam ?? 'not identified: only INBOX is polled'],
    ['Trash', trash ?? 'not identified: delete_after_fetch cannot be used'],
    ['IDLE', idle ? 'yes: new mail is pushed' : 'no: new mail is found by polling'],
    ['Gmail ids', gmail ? 'yes' : 'no: mail is identified by Message-ID, size and date'],
  ]
}

async function runAliasTrial(
  deps: AccountAdminDeps,
  trial: AliasTrial,
  email: Address,
  print: Print,
): Promise<void> {
  const aliases = await trialAliases(deps, email)
  print(`Sending a message to ${aliases.join(' and ')} and waiting for it…`)
  const arrived = await trial(email, aliases).catch((error: unknown) => {
    throw new CommandError(printable(toError(error).message), 1, { cause: error })
  })
  const rows = aliases.map((alias) => {
    const found = arrived.find((one) => one.alias === alias)
    if (!found) return [alias, 'not found: it did not arrive, or no header contains this form']
    return [alias, `arrived in ${found.folder}; found in ${found.headers.join(', ')}`]
  })
  for (const line of table(rows)) print(printable(line))
  if (arrived.length < aliases.length) {
    throw new CommandError('Some forms of the address cannot be used as aliases.')
  }
}

const MAX_DOT_FORMS = 16

/** A plus form, and a dot form if there is one that is not in use. */
async function trialAliases(deps: AccountAdminDeps, email: Address): Promise<Address[]> {
  const { store, now, randomBytes } = deps
  const known = (await store.listAccounts(now())).find((account) => account.email === email)
  const dots = dotAliases(email, randomBytes(DOT_ALIAS_RANDOM_BYTES), MAX_DOT_FORMS)
  const inUse = known ? await store.findAliases(known.id, dots, now()) : []
  const dot = dots.find((alias) => !inUse.some(({ address }) => address === alias))
  const plus = plusAlias(email, randomTag(email, randomBytes))
  return [dot, plus].filter((alias) => alias !== undefined)
}
