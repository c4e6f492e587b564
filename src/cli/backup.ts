import type { Command } from 'commander'
import { count } from './key-view.ts'
import type { Print } from './output.ts'

interface Contents {
  keys: number
  orders: number
  bytes: number
}

export interface BackupActions {
  /** Copies what was sold, also while a service runs. `tell` says what takes its time. */
  backup(file: string, options: { force: boolean; tell: Print }): Promise<Contents>
  /** Puts such a copy back; `kept` is where the former one lies now. */
  restore(file: string, options: { tell: Print }): Promise<Contents & { kept: string | undefined }>
}

export function addBackupCommands(mayfly: Command, actions: BackupActions, print: Print): void {
  mayfly
    .command('backup <file>')
    .description('copy keys, orders and usage to a file, also while the service runs')
    .option('--force', 'replace the file if it is there')
    .action(async (file: string, { force = false }: { force?: boolean }) => {
      const contents = await actions.backup(file, { force, tell: toPeople })
      print(`${file} holds ${held(contents)}, ${size(contents.bytes)}, and is whole.`)
    })
  mayfly
    .command('restore <file>')
    .description('put a backup back; the service must be stopped')
    .action(async (file: string) => {
      const { kept, ...contents } = await actions.restore(file, { tell: toPeople })
      for (const line of restoredLines(file, contents, kept)) print(line)
    })
}

/** What a restore means, said plainly: not all of it is what somebody may expect. */
function restoredLines(file: string, contents: Contents, kept: string | undefined): string[] {
  return [
    `Restored ${file}: ${held(contents)}. All of it is as it was when the backup was made:`,
    '  - Requests used since then are not counted: their keys have them once more.',
    '  - Keys revoked, stopped, rolled or labelled since then are as before. Revoke again what must not open.',
    '  - Keys and orders made since then are unknown, and their holders are refused. Issue new keys to who paid.',
    kept === undefined ? 'There was no shop before.' : `The former shop is kept as ${kept}`,
  ]
}

function held({ keys, orders }: Contents): string {
  return `${some(keys, 'key')} and ${some(orders, 'order')}`
}

function some(number: number, what: string): string {
  return `${count(number)} ${what}${number === 1 ? '' : 's'}`
}

function size(bytes: number): string {
  return bytes < 1_000_000
    ? `${count(Math.ceil(bytes / 1_000))} KB`
    : `${count(Math.round(bytes / 1_000_000))} MB`
}

/** Progress is for who looks on; a cron job hears only of faults. */
function toPeople(words: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${words}\n`)
}
