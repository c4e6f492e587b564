import type { Command } from 'commander'
import { CommandError, formatBytes, formatCount, type Print, plural } from './output.ts'

interface Contents {
  keys: number
  orders: number
  blocks: number
  /** That ever belonged to a session. */
  addresses: number
  bytes: number
}

interface Restored extends Contents {
  /** Where the files that were replaced are now. */
  previous: { shop: string | undefined; mail: string | undefined }
  /** Whether mail.db stayed, with what it lacked of the backup; undefined if there is none. */
  keptMail: boolean | undefined
}

interface Written extends Contents {
  file: string
  /** Older backups of the same folder that were deleted. */
  deleted: string[]
}

export interface BackupActions {
  /**
   * Copies what must survive a lost disk, also while a service runs. The default target is the folder of the settings, as is how
   * many of its files stay. `tell` is called before slow steps.
   */
  backup(
    target: string | undefined,
    options: { force: boolean; keep: number | undefined; tell: Print },
  ): Promise<Written>
  restore(file: string, options: { tell: Print }): Promise<Restored>
}

export function addBackupCommands(mayfly: Command, actions: BackupActions, print: Print): void {
  mayfly
    .command('backup [target]')
    .description(
      'Back up keys, orders, usage, webhooks, domains, the block list and the ledger of addresses to a file, or to a new file in a folder (default: MAYFLY_BACKUP); safe while the service runs',
    )
    .option('--keep <count>', 'of the backups in the folder, delete all but the newest', keepCount)
    .option('--force', 'overwrite the file')
    .action(
      async (
        target: string | undefined,
        { force = false, keep }: { force?: boolean; keep?: number },
      ) => {
        const written = await actions.backup(target, { force, keep, tell: printProgress })
        const { file, bytes, deleted } = written
        print(`Wrote ${file}: ${summary(written)}, ${formatBytes(bytes)}; verified.`)
        if (deleted.length > 0) print(`Deleted ${plural(deleted.length, 'older backup')}.`)
      },
    )
  mayfly
    .command('restore <file>')
    .description('Restore a backup; stop the service first')
    .action(async (file: string) => {
      const restored = await actions.restore(file, { tell: printProgress })
      for (const line of restoredLines(file, restored)) print(line)
    })
}

function keepCount(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new CommandError('--keep: must be a number from 1', 2)
}

function restoredLines(file: string, { previous, keptMail, ...contents }: Restored): string[] {
  return [
    `Restored ${file}: ${summary(contents)}. Everything is as it was at the time of the backup:`,
    '  - Requests made since then are not counted; their keys can use them again.',
    '  - Revocations, rotations and labels since then are undone. Revoke again any keys that must not work.',
    '  - Keys and orders created since then no longer exist. Issue new keys to customers who paid.',
    keptMail
      ? '  - mail.db was kept, with its mail and sessions. Domains, Gmail accounts, blocks and addresses of the ledger that it lacked were added,\n    also blocks that were removed since then.'
      : '  - Sessions and mail no longer exist, except permanent addresses, which get new tokens from /sessions/roll-token.\n    Because nobody knows which addresses were assigned since then, the service refuses mail for addresses without\n    a session until they have expired.',
    'After the next start of the service, see whether every address is known: mayfly ledger show',
    previous.shop === undefined
      ? 'There was no shop before.'
      : `The previous shop is in ${previous.shop}`,
    ...(previous.mail === undefined
      ? []
      : [`The previous mail.db, with its mail, is in ${previous.mail}`]),
  ]
}

function summary({ keys, orders, blocks, addresses }: Contents): string {
  const counts = [plural(keys, 'key'), plural(orders, 'order'), plural(blocks, 'block')]
  return `${counts.join(', ')} and ${formatCount(addresses)} ${addresses === 1 ? 'address' : 'addresses'}`
}

/** Only on a terminal: a cron job should mail errors, not progress. */
function printProgress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${line}\n`)
}
