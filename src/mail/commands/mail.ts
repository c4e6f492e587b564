import type { Command } from 'commander'
import { canonicalIp } from '../../base/ip.ts'
import { CommandError, formatCount, formatVolume, type Print, plural } from '../../cli/output.ts'
import { openProgress, type Progress } from '../../cli/progress.ts'
import { type DeletedMail, deleteMailFrom, type OperatorDeps } from '../operator.ts'
import type { OperatorContext } from './session.ts'

export function addMailCommands(
  mail: Command,
  { withMail, now }: OperatorContext,
  print: Print,
): void {
  mail
    .command('delete')
    .description('Delete stored mail from every mailbox; can be interrupted and repeated')
    .requiredOption('--from-ip <ip>', 'mail delivered by this IP address')
    .action(async (options: { fromIp: string }) => {
      const fromIp = parseIp(options.fromIp)
      const progress = openProgress(process.stderr)
      const interrupted = new AbortController()
      const interrupt = () => interrupted.abort()
      // Only the first signal: a second one does not wait for the commit.
      process.once('SIGINT', interrupt)
      try {
        await withMail((store) =>
          deleteMail({ store, now }, { fromIp, signal: interrupted.signal, progress }, print),
        )
      } finally {
        process.off('SIGINT', interrupt)
      }
    })
}

interface DeleteOptions {
  fromIp: string
  /** Stops between two commits. */
  signal: AbortSignal
  progress: { tell(progress: Progress): void; end(): void }
}

/** In the form in which it is stored. */
export function parseIp(text: string): string {
  const ip = canonicalIp(text)
  if (ip !== undefined) return ip
  throw new CommandError(`--from-ip: ${JSON.stringify(text)} is not an IP address.`, 2)
}

export async function deleteMail(
  deps: OperatorDeps,
  { fromIp, signal, progress }: DeleteOptions,
  print: Print,
): Promise<void> {
  const deleted = await deleteMailFrom(deps, fromIp, {
    signal,
    report({ examined: rows, all }) {
      progress.tell({ doing: 'examining', rows, bytes: 0, all: { rows: all, bytes: 0 } })
    },
  }).finally(progress.end)
  for (const line of deletedLines(fromIp, deleted)) print(line)
  if (!deleted.complete) {
    throw new CommandError('Interrupted: some mail may be left. Run the command again.')
  }
}

function deletedLines(fromIp: string, { sessions, pool, operator }: DeletedMail): string[] {
  const parts = [sessions, pool, operator]
  const messages = parts.reduce((sum, part) => sum + part.messages, 0)
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  if (messages === 0) return [`No messages from ${fromIp} were found.`]
  const boxes = plural(sessions.mailboxes, 'session')
  const where = [
    sessions.messages > 0 ? `${formatCount(sessions.messages)} in ${boxes}` : '',
    pool.messages > 0 ? `${formatCount(pool.messages)} in the pool` : '',
    operator.messages > 0 ? `${formatCount(operator.messages)} for postmaster and abuse` : '',
  ]
  const shown = where.filter((part) => part !== '').join(', ')
  return [`Deleted ${formatVolume({ messages, bytes })} from ${fromIp}: ${shown}.`]
}
