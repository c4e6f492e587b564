import type { Command } from 'commander'
import { CommandError, formatCount, type Print, table } from './output.ts'
import { openProgress, type Progress } from './progress.ts'

export interface Moved {
  tables: { name: string; rows: number; same: boolean }[]
  /** Bytes of mail, compressed. */
  bytes: number
}

export interface MigrateActions {
  /** Copies a data folder into PostgreSQL and compares both. */
  migrate(
    move: { folder: string; url: string },
    report: (progress: Progress) => void,
  ): Promise<Moved>
}

export function addMigrateCommand(mayfly: Command, actions: MigrateActions, print: Print): void {
  mayfly
    .command('migrate')
    .description('Copy a SQLite data directory to PostgreSQL; stop the service first')
    .requiredOption('--from <store>', 'sqlite:FOLDER')
    .requiredOption('--to <store>', 'postgres://user@host/database')
    .action(async ({ from, to }: { from: string; to: string }) => {
      const move = { folder: folderOf(from), url: urlOf(to) }
      const progress = openProgress(process.stderr)
      const moved = await actions.migrate(move, progress.tell).finally(progress.end)
      for (const line of tableOf(moved)) print(line)
      checkSame(moved)
      print(`Moved ${totalOf(moved)}. All checksums match.`)
      print(`Next: set MAYFLY_STORE to this PostgreSQL and start. ${move.folder} is unchanged.`)
    })
}

// Errors do not repeat the value: it may contain a password.
function folderOf(from: string): string {
  const folder = /^sqlite:(.+)$/s.exec(from)?.[1]
  if (folder !== undefined) return folder
  if (from === 'sqlite:')
    throw new CommandError('--from: must include the folder, as in sqlite:./data', 2)
  throw new CommandError('--from: must be a data folder, as in sqlite:./data', 2)
}

function urlOf(to: string): string {
  if (/^postgres(ql)?:\/\//.test(to) && URL.canParse(to)) return to
  throw new CommandError('--to: must be a PostgreSQL URL, as in postgres://user@host/database', 2)
}

function tableOf({ tables }: Moved): string[] {
  return table([
    ['TABLE', 'ROWS', 'CHECKSUM'],
    ...tables.map(({ name, rows, same }) => [name, formatCount(rows), same ? 'same' : 'DIFFERS']),
  ])
}

function checkSame({ tables }: Moved): void {
  const different = tables.filter(({ same }) => !same).map(({ name }) => name)
  if (different.length === 0) return
  throw new CommandError(
    `The copy differs from the folder in ${different.join(', ')}. The folder is unchanged. Run the command again to start over.`,
  )
}

function totalOf({ tables, bytes }: Moved): string {
  const rows = tables.reduce((all, one) => all + one.rows, 0)
  return `${formatCount(rows)} rows, ${formatCount(Math.round(bytes / 100_000) / 10)} MB of mail`
}
