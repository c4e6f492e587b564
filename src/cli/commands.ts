import { Command, CommanderError } from 'commander'
import { printableLines } from '../base/text.ts'
import { addBlockCommands, type BlockActions } from '../blocks/commands.ts'
import { addDoctorCommand, type DoctorActions } from '../doctor/commands.ts'
import { addSetupCommand, type SetupActions } from '../doctor/setup/setup.ts'
import { addDomainCommands, type DomainActions } from '../domains/commands.ts'
import { type AccountActions, addAccountCommands } from '../gmail/commands.ts'
import { addKeyCommands, type KeyActions } from '../keys/commands.ts'
import { addInboxCommand, type InboxActions } from '../mail/commands/inbox.ts'
import { addLedgerCommands, type LedgerActions } from '../mail/commands/ledger.ts'
import { addMailCommands } from '../mail/commands/mail.ts'
import { addSessionCommands } from '../mail/commands/session.ts'
import { addMcpCommand } from '../mcp/commands.ts'
import { addOrderCommands, type OrderActions } from '../shop/commands.ts'
import { addWebhookCommands, type WebhookActions } from '../webhooks/commands.ts'
import { addBackupCommands, type BackupActions } from './backup.ts'
import { printConfig, type SettingLine } from './config.ts'
import { addMigrateCommand, type MigrateActions } from './migrate.ts'
import { CommandError, type JsonOption, type Print } from './output.ts'

/** What the commands call; main.ts opens each part only when a command needs it. */
export interface CliActions
  extends AccountActions,
    BackupActions,
    BlockActions,
    DoctorActions,
    DomainActions,
    InboxActions,
    KeyActions,
    LedgerActions,
    MigrateActions,
    OrderActions,
    WebhookActions {
  setup(): Promise<SetupActions>
  version: string
  /** Resolves when the service has stopped. */
  serve(): Promise<void>
  settings(): readonly SettingLine[]
}

/** Runs one command line. Returns the exit code: 0 success, 1 failed, 2 invalid command line. */
export async function run(args: readonly string[], actions: CliActions): Promise<number> {
  try {
    await program(actions, console.log).parseAsync(args, { from: 'user' })
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
export function program(actions: CliActions, print: Print): Command {
  const mayfly = new Command('mayfly')
    .description(
      'Disposable email: receives mail over SMTP and serves it on a web page and as JSON.',
    )
    .version(actions.version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
  const group = (name: string, description: string) => mayfly.command(name).description(description)

  mayfly
    .command('serve')
    .description('Run the service')
    .action(() => actions.serve())
  mayfly
    .command('config')
    .description('Show every setting: value, origin and meaning')
    .option('--json', 'print JSON')
    .action((options: JsonOption) => printConfig(actions.settings(), options, print))
  addSetupCommand(mayfly, actions.setup, print)
  addDoctorCommand(mayfly, actions, print)
  addDomainCommands(group('domain', 'Manage mail domains'), actions, print)
  addAccountCommands(group('account', 'Manage Gmail accounts'), actions, print)
  addInboxCommand(mayfly, actions, print)
  addMcpCommand(mayfly, actions)
  addSessionCommands(group('session', 'Manage live sessions'), actions, print)
  addMailCommands(group('mail', 'Manage stored mail'), actions, print)
  addBlockCommands(group('block', 'Block senders and clients'), actions, print)
  addKeyCommands(group('key', 'Manage API keys'), actions, print)
  addWebhookCommands(group('webhook', 'Manage webhooks'), actions, print)
  addOrderCommands(group('order', 'Show orders'), actions, print)
  addLedgerCommands(
    group('ledger', 'Manage the ledger of addresses that belonged to sessions'),
    actions,
    print,
  )
  addBackupCommands(mayfly, actions, print)
  addMigrateCommand(mayfly, actions, print)
  return mayfly
}
