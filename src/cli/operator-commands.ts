import { type Command, InvalidArgumentError } from 'commander'
import type { OperatorDeps } from '../service/operator.ts'
import { deleteMail, ipOf } from './mail.ts'
import type { Print } from './output.ts'
import { showProgress } from './progress.ts'
import { endSession, printSessions } from './session.ts'

export interface OperatorActions {
  withOperatorStore(use: (deps: OperatorDeps) => Promise<void>): Promise<void>
}

export function addSessionCommands(
  session: Command,
  { withOperatorStore }: OperatorActions,
  print: Print,
): void {
  session
    .command('list')
    .description('list live sessions, newest first, and what they hold')
    .option('--largest', 'largest first')
    .option('--limit <n>', 'maximum number of sessions', countOf, 50)
    .option('--json', 'as JSON')
    .action((options: { largest?: boolean; limit: number; json?: boolean }) =>
      withOperatorStore((deps) => printSessions(deps, options, print)),
    )
  session
    .command('end <address>')
    .description('end a live session now: its mail is deleted, its address cools down')
    .action((address: string) => withOperatorStore((deps) => endSession(deps, address, print)))
}

export function addMailCommands(
  mail: Command,
  { withOperatorStore }: OperatorActions,
  print: Print,
): void {
  mail
    .command('delete')
    .description('delete stored mail from every mailbox; may be interrupted and run again')
    .requiredOption('--from-ip <ip>', 'mail that this IP address delivered')
    .action(async (options: { fromIp: string }) => {
      const fromIp = ipOf(options.fromIp)
      const progress = showProgress(process.stderr)
      const interrupted = new AbortController()
      const interrupt = () => interrupted.abort()
      // Only the first one: whoever asks twice does not want to wait for the commit.
      process.once('SIGINT', interrupt)
      try {
        await withOperatorStore((deps) =>
          deleteMail(deps, { fromIp, signal: interrupted.signal, progress }, print),
        )
      } finally {
        process.off('SIGINT', interrupt)
      }
    })
}

export function countOf(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Give a whole number from 1 on.')
}
