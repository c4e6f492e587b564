import { Command, CommanderError } from 'commander'
import { printableLines } from '../base/text.ts'
import { addBlockCommands } from '../blocks/commands.ts'
import { addDoctorCommand } from '../doctor/commands.ts'
import { addSetupCommand } from '../doctor/setup/setup.ts'
import { addDomainCommands } from '../domains/commands.ts'
import { addOwnDomainCommands, keyHoldings } from '../domains/own/commands.ts'
import { addAccountCommands } from '../gmail/commands.ts'
import { addKeyCommands } from '../keys/commands.ts'
import { addInboxCommand } from '../mail/commands/inbox.ts'
import { addLedgerCommands } from '../mail/commands/ledger.ts'
import { addMailCommands } from '../mail/commands/mail.ts'
import { addSessionCommands } from '../mail/commands/session.ts'
import { addMailLogCommand } from '../mail/log/commands.ts'
import { addMcpCommand } from '../mcp/commands.ts'
import type { Config, readConfig } from '../runtime/config.ts'
import type { CliMailStore, openMailStoreIfExists } from '../runtime/stores.ts'
import { addOrderCommands } from '../shop/commands.ts'
import type { ShopStore } from '../store/store.ts'
import { addWebhookCommands } from '../webhooks/commands.ts'
import { addBackupCommands, type BackupActions } from './backup.ts'
import { addCompletionCommand } from './completion.ts'
import { printConfig, type SettingLine } from './config.ts'
import type { CommandContext } from './context.ts'
import { addMigrateCommand, type MigrateActions } from './migrate.ts'
import { CommandError, type JsonOption, type Print } from './output.ts'

/** What main.ts gives to the commands. */
export interface CliContext
  extends CommandContext<Config, CliMailStore, ShopStore>,
    BackupActions,
    MigrateActions {
  version: string
  /** How to run this program. */
  command: string
  /** Resolves when the service has stopped. */
  serve(): Promise<void>
  settings(): readonly SettingLine[]
  readConfig: typeof readConfig
  openMailIfExists(): ReturnType<typeof openMailStoreIfExists>
}

/** Runs one command line. Returns the exit code: 0 success, 1 failed, 2 invalid command line. */
export async function run(args: readonly string[], context: CliContext): Promise<number> {
  try {
    await program(context, console.log).parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has already printed its message. --help and --version end with code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (!(error instanceof CommandError)) throw error
    if (error.message !== '') console.error(printableLines(error.message))
    return error.exitCode
  }
}

/** All commands; the manual page and the shell completion are made from it. */
export function program(context: CliContext, print: Print): Command {
  const mayfly = new Command('mayfly')
    .description(
      'Disposable email: receives mail over SMTP and serves it on a web page and as JSON.',
    )
    .version(context.version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
  const group = (name: string, description: string) => mayfly.command(name).description(description)

  mayfly
    .command('serve')
    .description('Run the service')
    .action(() => context.serve())
  mayfly
    .command('config')
    .description('Show every setting: value, origin and meaning')
    .option('--json', 'print JSON')
    .action((options: JsonOption) => printConfig(context.settings(), options, print))
  addSetupCommand(mayfly, context, print)
  addDoctorCommand(mayfly, context, print)
  addDomainCommands(group('domain', 'Manage mail domains'), context, print)
  addOwnDomainCommands(group('own-domain', 'Manage domains of key holders'), context, print)
  addAccountCommands(group('account', 'Manage Gmail accounts'), context, print)
  addInboxCommand(mayfly, context, print)
  addMcpCommand(mayfly, context)
  addSessionCommands(group('session', 'Manage live sessions'), context, print)
  const mail = group('mail', 'Manage stored mail, and show the mail log')
  addMailCommands(mail, context, print)
  addMailLogCommand(mail, context, print)
  addBlockCommands(group('block', 'Block senders and clients'), context, print)
  const key = { ...context, keyHoldings: keyHoldings(context) }
  addKeyCommands(group('key', 'Manage API keys'), key, print)
  addWebhookCommands(group('webhook', 'Manage webhooks'), context, print)
  addOrderCommands(group('order', 'Show orders'), context, print)
  addLedgerCommands(
    group('ledger', 'Manage the ledger of addresses that belonged to sessions'),
    context,
    print,
  )
  addBackupCommands(mayfly, context, print)
  addMigrateCommand(mayfly, context, print)
  addCompletionCommand(mayfly, print)
  return mayfly
}
