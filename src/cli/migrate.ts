import type { Command } from 'commander'
import type { Moved, MoveProgress } from '../service/background/move-up.ts'
import { CommandError, formatCount, type Print, table } from './output.ts'
import { openProgress } from './progress.ts'

export interface MigrateActions {
  /** Moves all that a data folder keeps into a PostgreSQL; `told` hears how far it is. */
  migrate(
    move: { folder: string; url: string },
    onProgress: (progress: MoveProgress) => void,
  ): Promise<Moved>
}

export function addMigrateCommand(mayfly: Command, actions: MigrateActions, print: Print): void {
  mayfly
    .command('migrate')
    .description('Move a SQLite data directory to PostgreSQL; stop the service first')
    .requiredOption('--from <store>', 'sqlite:FOLDER')
    .requiredOption('--to <store>', 'postgres://user@host/database')
    .action(async ({ from, to }: { from: string; to: string }) => {
      const move = { folder: folderOf(from), url: urlOf(to) }
      const progress = openProgress(process.stderr)
      const moved = await actions.migrate(move, progress.tell).finally(progress.end)
      for (const line of movedTable(moved)) print(line)
      requireSame(moved)
      print(
        `${moved.copied ? 'Moved' : 'Moved before'}: ${summary(moved)}, the same on both sides.`,
      )
      print(`Next: set MAYFLY_STORE to that PostgreSQL and start. ${move.folder} is as it was.`)
    })
}

// What is wrong with an address is told without it: it may hold a password.
function folderOf(from: string): string {
  const folder = /^sqlite:(.+)$/s.exec(from)?.[1]
  if (folder !== undefined) return folder
  if (from === 'sqlite:') throw new CommandError('--from: name the folder, as in sqlite:./data', 2)
  throw new CommandError('--from: what moves is a folder, as in sqlite:./data', 2)
}

function urlOf(to: string): string {
  if (/^postgres(ql)?:\/\//.test(to) && URL.canParse(to)) return to
  throw new CommandError('--to: it goes to a PostgreSQL, as in postgres://user@host/database', 2)
}

function movedTable({ tables }: Moved): string[] {
  const rows = tables.map(({ name, rows: number, same }) => [
    name,
    formatCount(number),
    same ? 'the same' : 'DIFFERS',
  ])
  return table([['TABLE', 'ROWS', 'COMPARED'], ...rows])
}

function requireSame({ tables, copied }: Moved): void {
  const different = tables.filter(({ same }) => !same).map(({ name }) => name)
  if (different.length === 0) return
  const why = copied ? '' : ', as it does once a service has run on it'
  throw new CommandError(
    `PostgreSQL differs from the folder in ${different.join(', ')}${why}. Nothing was lost: the folder is as it was. To move again, give an empty database.`,
  )
}

function summary({ tables, bytes }: Moved): string {
  const rows = tables.reduce((all, one) => all + one.rows, 0)
  return `${formatCount(rows)} rows, ${formatCount(Math.round(bytes / 100_000) / 10)} MB of mail`
}
