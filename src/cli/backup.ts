import type { Command } from 'commander'
import { formatCount, type Print, plural } from './output.ts'

interface Contents {
  keys: number
  orders: number
  bytes: number
}

export interface BackupActions {
  /** Copies the shop, also while a service runs. `tell` is called before slow steps. */
  backup(file: string, options: { force: boolean; tell: Print }): Promise<Contents>
  /** Replaces the shop with a backup; `previous` is where the replaced one is now. */
  restore(
    file: string,
    options: { tell: Print },
  ): Promise<Contents & { previous: string | undefined }>
}

export function addBackupCommands(mayfly: Command, actions: BackupActions, print: Print): void {
  mayfly
    .command('backup <file>')
    .description('Back up keys, orders and usage to a file; safe while the service runs')
    .option('--force', 'overwrite the file')
    .action(async (file: string, { force = false }: { force?: boolean }) => {
      const contents = await actions.backup(file, { force, tell: printProgress })
      print(`Wrote ${file}: ${summary(contents)}, ${size(contents.bytes)}; verified.`)
    })
  mayfly
    .command('restore <file>')
    .description('Restore a backup; stop the service first')
    .action(async (file: string) => {
      const { previous, ...contents } = await actions.restore(file, { tell: printProgress })
      for (const line of restoredLines(file, contents, previous)) print(line)
    })
}

function restoredLines(file: string, contents: Contents, previous: string | undefined): string[] {
  return [
    `Restored ${file}: ${summary(contents)}. Everything is as it was at the time of the backup:`,
    '  - Requests made since then are not counted; their keys can use them again.',
    '  - Revocations, rotations and labels since then are undone. Revoke again any keys that must not work.',
    '  - Keys and orders created since then no longer exist. Issue new keys to customers who paid.',
    previous === undefined ? 'There was no shop before.' : `The previous shop is in ${previous}`,
  ]
}

function summary({ keys, orders }: Contents): string {
  return `${plural(keys, 'key')} and ${plural(orders, 'order')}`
}

function size(bytes: number): string {
  return bytes < 1_000_000
    ? `${formatCount(Math.ceil(bytes / 1_000))} KB`
    : `${formatCount(Math.round(bytes / 1_000_000))} MB`
}

/** Only on a terminal: a cron job should mail errors, not progress. */
function printProgress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${line}\n`)
}
