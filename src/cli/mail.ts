import { canonicalIp } from '../core/ip.ts'
import { type DeletedMail, deleteMailFrom, type OperatorDeps } from '../service/operator.ts'
import { count } from './key-view.ts'
import { type Print, Refused } from './output.ts'
import type { Progress } from './progress.ts'
import { volumeShown } from './volume.ts'

interface DeleteOptions {
  fromIp: string
  /** Ends it between two commits. */
  signal: AbortSignal
  progress: { tell(progress: Progress): void; end(): void }
}

/** The address as mail from it is recorded. */
export function ipOf(text: string): string {
  const ip = canonicalIp(text)
  if (ip !== undefined) return ip
  throw new Refused(`--from-ip: ${JSON.stringify(text)} is not an IP address.`, 2)
}

/** `mayfly mail delete --from-ip` */
export async function deleteMail(
  deps: OperatorDeps,
  { fromIp, signal, progress }: DeleteOptions,
  print: Print,
): Promise<void> {
  const deleted = await deleteMailFrom(deps, fromIp, {
    signal,
    report: ({ examined, all }) =>
      progress.tell({
        doing: 'examining',
        rows: examined,
        bytes: 0,
        all: { rows: all, bytes: 0 },
      }),
  }).finally(progress.end)
  for (const line of deletedLines(fromIp, deleted)) print(line)
  if (!deleted.complete) {
    throw new Refused('Interrupted: more of its mail may be stored. Run the command again.')
  }
}

function deletedLines(fromIp: string, { sessions, pool, operator }: DeletedMail): string[] {
  const parts = [sessions, pool, operator]
  const messages = parts.reduce((sum, part) => sum + part.messages, 0)
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  if (messages === 0) return [`No messages from ${fromIp} were found.`]
  const boxes = sessions.mailboxes === 1 ? '1 session' : `${count(sessions.mailboxes)} sessions`
  const where = [
    sessions.messages > 0 ? `${count(sessions.messages)} in ${boxes}` : '',
    pool.messages > 0 ? `${count(pool.messages)} in the pool` : '',
    operator.messages > 0 ? `${count(operator.messages)} for postmaster and abuse` : '',
  ]
  const shown = where.filter((part) => part !== '').join(', ')
  return [`Deleted ${volumeShown({ messages, bytes })} from ${fromIp}: ${shown}.`]
}
