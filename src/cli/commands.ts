import { Command, CommanderError } from 'commander'
import type { Plan } from '../core/plan.ts'
import type { KeyAdminDeps } from '../service/keys/keys.ts'
import type { DomainAdminStore } from '../service/sessions/domains.ts'
import { type AccountActions, addAccountCommands } from './account.ts'
import { addBackupCommands, type BackupActions } from './backup.ts'
import { printConfig, type SettingLine } from './config.ts'
import { type AddOptions, addDomain, printDomains, removeDomain, switchDomain } from './domain.ts'
import {
  chosenMessages,
  type DeleteOptions,
  deleteOperator,
  type OperatorMail,
  watchInbox,
  watchOperator,
} from './inbox.ts'
import { addKeyCommands, addOrderCommands } from './key-commands.ts'
import { addMigrateCommand, type MoveActions } from './migrate.ts'
import {
  addMailCommands,
  addSessionCommands,
  countOf,
  type OperatorActions,
} from './operator-commands.ts'
import { type Print, Refused } from './output.ts'
import type { Whereabouts } from './serve.ts'

/** What the commands need done; main.ts opens each part only when a command asks for it. */
export interface Actions extends AccountActions, BackupActions, MoveActions, OperatorActions {
  version: string
  /** Runs until it is told to stop. */
  serve(): Promise<void>
  settings(): readonly SettingLine[]
  here(): Whereabouts
  withDomains(operation: (book: DomainAdminStore) => Promise<void>): Promise<void>
  withOperatorMail(operation: (mail: OperatorMail) => Promise<void>): Promise<void>
  /** What the operator sells. */
  plans(): readonly Plan[]
  withKeys(operation: (book: KeyAdminDeps) => Promise<void>): Promise<void>
}

/** Runs one command line and says how it ended: 0 done, 1 refused, 2 wrongly written. */
export async function run(args: readonly string[], actions: Actions): Promise<number> {
  try {
    await program(actions, console.log).parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has written its own line already; asking for help or the version is no fault.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (!(error instanceof Refused)) throw error
    console.error(error.message)
    return error.exitCode
  }
}

function program(actions: Actions, print: Print): Command {
  const mayfly = new Command('mayfly')
    .description('Disposable mailboxes: mail in over SMTP, out as JSON.')
    .version(actions.version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })

  mayfly
    .command('serve')
    .description('take mail in and answer the API, until stopped')
    .action(() => actions.serve())
  mayfly
    .command('config')
    .description('print every setting, its value, where it came from and what it means')
    .option('--json', 'as JSON')
    .action((options: { json?: boolean }) => printConfig(actions.settings(), options, print))
  addDomainCommands(mayfly.command('domain').description('the mail domains'), actions, print)
  const accounts = mayfly.command('account').description('the Gmail accounts')
  addAccountCommands(accounts, actions, print)
  addInboxCommand(mayfly, actions, print)
  addSessionCommands(mayfly.command('session').description('live sessions'), actions, print)
  addMailCommands(mayfly.command('mail').description('stored mail'), actions, print)
  addKeyCommands(mayfly.command('key').description('the keys that open /emails'), actions, print)
  addOrderCommands(mayfly.command('order').description('what was sold'), actions, print)
  addBackupCommands(mayfly, actions, print)
  addMigrateCommand(mayfly, actions, print)
  return mayfly
}

function addDomainCommands(domain: Command, { withDomains }: Actions, print: Print): void {
  domain
    .command('list')
    .description('print them')
    .option('--json', 'as JSON')
    .option('--all', 'removed ones too')
    .action((options: { json?: boolean; all?: boolean }) =>
      withDomains((book) => printDomains(book, options, print)),
    )
  domain
    .command('add <name>')
    .description('take mail for a domain; a removed one comes back under its old id')
    .option('--no-sessions', 'people may not have sessions there')
    .option('--no-reader', 'mail for addresses that no session ever held is refused')
    .option('--ttl <duration>', 'life of a session there, such as 2h')
    .action((name: string, options: AddOptions) =>
      withDomains((book) => addDomain(book, name, options, print)),
    )
  domain
    .command('remove <name>')
    .description('no new sessions; live ones end normally')
    .action((name: string) => withDomains((book) => removeDomain(book, name, print)))
  domain
    .command('activate <name>')
    .description('offer it again')
    .action((name: string) => withDomains((book) => switchDomain(book, name, true, print)))
  domain
    .command('deactivate <name>')
    .description('offer it to nobody for now')
    .action((name: string) => withDomains((book) => switchDomain(book, name, false, print)))
}

interface InboxOptions extends DeleteOptions {
  url?: string
  prefix?: string
  operator?: boolean
  wait: boolean
  once?: boolean
  count?: number
}

function addInboxCommand(mayfly: Command, actions: Actions, print: Print): void {
  mayfly
    .command('inbox')
    .description('make a mailbox and show its mail as it arrives')
    .option('--url <url>', 'the service to ask (default: the one configured here)')
    .option('--prefix <name>', 'the part before the @ (default: two words and digits)')
    .option('--operator', 'show mail for postmaster and abuse instead')
    .option('--no-wait', 'with --operator: show what is there and end')
    .option('--once', 'end after one mail')
    .option('--count <n>', 'end after n mails', countOf)
    .option(
      '--delete [id]',
      'with --operator: delete the message with this id instead of showing mail',
    )
    .option('--all', 'with --operator --delete and no id: delete every message')
    .action(async ({ operator, wait, ...options }: InboxOptions) => {
      if (options.delete !== undefined || options.all) {
        if (!operator || options.delete === undefined) {
          throw new Refused('To delete: mayfly inbox --operator --delete ID, or --delete --all', 2)
        }
        const which = chosenMessages(options)
        return await actions.withOperatorStore((deps) => deleteOperator(deps, which, print))
      }
      const count = options.once ? 1 : (options.count ?? Number.POSITIVE_INFINITY)
      if (operator) {
        return await actions.withOperatorMail((mail) => watchOperator(mail, { count, wait }, print))
      }
      const here = actions.here()
      const url = options.url?.replace(/\/+$/, '') ?? here.url
      await watchInbox({ url, count, prefix: options.prefix }, print, (address) => {
        if (url === here.url) print(sendLine(here, address))
      })
    })
}

function sendLine({ smtpHost, smtpPort }: Whereabouts, address: string): string {
  return `Send     swaks --server ${smtpHost}:${smtpPort} --to ${address} --body 'It works.'`
}
