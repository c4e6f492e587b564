import { type Actor, type Target, withKeys } from './actor.ts'
import type { Backup, RestoredBackup } from './backups.ts'

const MAX_KEYS = 10_000

/** A backup at each fault, which interrupts every other one. What then looks like a backup can be restored. */
export function backupActor(): Actor {
  let last: { backup: Backup; keys: readonly string[]; isInterrupted: boolean } | undefined
  let begun = 0
  let restored = 0
  let interrupted = 0

  return {
    run: async () => {},
    async beforeCrash(target, busy) {
      begun += 1
      const isInterrupted = begun % 2 === 1
      const keys = await keyIds(target)
      if (isInterrupted) await busy
      last = { keys, backup: await target.backUp(), isInterrupted }
      if (!isInterrupted) await last.backup.failure
    },
    async faults(target) {
      if (!last) return []
      const { backup, keys, isInterrupted } = last
      const failure = await backup.failure
      const found = await target.restoreBackups()
      restored += found.length
      if (failure !== undefined) interrupted += 1
      return backupFaults({ keys, failure, isInterrupted }, found)
    },
    counts: () => ({ 'restored backups': restored, 'interrupted backups': interrupted }),
  }
}

/** `keys`: those that existed before the backup. */
export function backupFaults(
  {
    keys,
    failure,
    isInterrupted,
  }: { keys: readonly string[]; failure: string | undefined; isInterrupted: boolean },
  found: readonly RestoredBackup[],
): string[] {
  const faults = found
    .filter((one) => one instanceof Error)
    .map((error) => `what looks like a backup cannot be restored: ${error}`)
  const isComplete = (one: RestoredBackup) =>
    !(one instanceof Error) && keys.every((id) => one.includes(id))
  if (failure !== undefined && !isInterrupted) faults.push(`a backup failed: ${failure}`)
  if (failure === undefined && !found.some(isComplete))
    faults.push(`a backup was reported as written, but there is none with the keys ${keys}`)
  return faults
}

async function keyIds(target: Target): Promise<string[]> {
  const list = await withKeys(target, ({ shop }) =>
    shop.listKeys({ now: new Date(), limit: MAX_KEYS }),
  )
  return list.map(({ id }) => id)
}
