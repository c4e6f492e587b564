import type { Command } from 'commander'
import { parseAddress } from '../../base/address.ts'
import type { CommandContext } from '../../cli/context.ts'
import {
  CommandError,
  formatBytes,
  formatCount,
  formatMinute,
  formatVolume,
  type JsonOption,
  type Print,
  parseCount,
  plural,
  printJson,
  table,
} from '../../cli/output.ts'
import type { InstallationStore } from '../../keys/installation-store.ts'
import { forgetAddress, readLogKey } from '../log/commands.ts'
import { endSessionByAddress, type OperatorDeps, sessionJson } from '../operator.ts'

export type OperatorContext = Pick<
  CommandContext<unknown, OperatorDeps['store']>,
  'withMail' | 'now'
>

type SessionContext = Pick<
  CommandContext<unknown, OperatorDeps['store'], Pick<InstallationStore, 'findSecret'>>,
  'withMail' | 'withShop' | 'now'
>

interface ListOptions extends JsonOption {
  largest?: boolean
  limit: number
}

export function addSessionCommands(
  session: Command,
  { withMail, withShop, now }: SessionContext,
  print: Print,
): void {
  session
    .command('list')
    .description('List live sessions, newest first')
    .option('--largest', 'largest first')
    .option('--limit <n>', 'maximum number of sessions', parseCount, 50)
    .option('--json', 'print JSON')
    .action((options: ListOptions) =>
      withMail((store) => printSessions({ store, now }, options, print)),
    )
  session
    .command('end <address>')
    .description('End a live session: its mail is deleted, and the cool-down of its address begins')
    .option('--forget', 'also delete the lines about the address from the mail log')
    .action(async (address: string, { forget = false }: { forget?: boolean }) => {
      const forgetKey = forget ? await readLogKey({ withShop }) : undefined
      await withMail((store) => endSession({ store, now, forgetKey }, address, print))
    })
}

export async function printSessions(
  deps: OperatorDeps,
  { largest, limit, json }: ListOptions,
  print: Print,
): Promise<void> {
  // One more than shown, to know whether there are more.
  const order = largest ? 'largest' : 'newest'
  const found = await deps.store.listSessions({ order, limit: limit + 1, now: deps.now() })
  const sessions = found.slice(0, limit)
  if (json) return printJson(sessions.map(sessionJson), print)
  if (sessions.length === 0) return print('No live sessions.')
  const rows = sessions.map((session) => [
    session.address,
    formatMinute(session.createdAt),
    formatMinute(session.expiresAt),
    formatCount(session.count),
    formatBytes(session.bytes),
    session.keyId === undefined ? 'no' : 'yes',
  ])
  const heading = ['ADDRESS', 'CREATED (UTC)', 'EXPIRES (UTC)', 'MESSAGES', 'SIZE', 'KEY']
  for (const line of table([heading, ...rows])) print(line)
  if (found.length > limit) print(`Showing the first ${formatCount(limit)}. Use --limit for more.`)
}

interface EndDeps extends OperatorDeps {
  /** To find the lines of the mail log about the address, if they are to be deleted. */
  forgetKey?: Uint8Array | undefined
}

export async function endSession(deps: EndDeps, text: string, print: Print): Promise<void> {
  const { forgetKey: key } = deps
  const address = parseAddress(text)
  if (!address) throw new CommandError(`${JSON.stringify(text)} is not an address.`, 2)
  const ended = await endSessionByAddress(deps, address)
  const none = `No live session holds ${address}.`
  if (!ended && !key) throw new CommandError(`${none} See: mayfly session list`)
  // The next sweep deletes them.
  const unread = ended && formatVolume({ messages: ended.count, bytes: ended.bytes })
  print(ended ? `Ended the session for ${address}. ${unread} can no longer be read.` : none)
  if (!key) return
  const lines = await forgetAddress({ ...deps, key }, address)
  print(`Deleted ${plural(lines, 'line')} of the mail log about ${address}.`)
}
