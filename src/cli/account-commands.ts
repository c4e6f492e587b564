import type { Command } from 'commander'
import type { AccountBook } from '../service/sessions/accounts.ts'
import { printAccounts, switchAccount } from './account.ts'
import { type AccountTestActions, testAccount } from './account-test.ts'
import type { Print } from './refused.ts'

export interface AccountActions extends AccountTestActions {
  withAccounts(operation: (book: AccountBook) => Promise<void>): Promise<void>
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
      withAccounts((book) => switchAccount(book, { name, active: true }, print)),
    )
  account
    .command('deactivate <account>')
    .description('give out none for now, and fetch no mail')
    .action((name: string) =>
      withAccounts((book) => switchAccount(book, { name, active: false }, print)),
    )
}
