import type { Actor } from './actor.ts'

/** A backup under load, restored elsewhere: it has every key that existed before. */
export function backupActor(): Actor {
  const faults: string[] = []
  let restored = 0
  return {
    run: async () => {},
    async beforeCrash(target) {
      // One for each batch: it takes as long as a crash.
      if (restored > 0) return
      const ids = ({ stdout }: { stdout: string }) =>
        (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id)
      const before = ids(await target.mayfly('key', 'list', '--json'))
      const result = await target.mayflyOnBackup('key', 'list', '--json')
      const after = result.status === 0 ? ids(result) : []
      if (!before.every((id) => after.includes(id)))
        faults.push(`a backup lacks keys: ${before} and ${after} ${result.stderr}`)
      restored += 1
    },
    faults: async () => faults.splice(0),
    counts: () => ({ 'restored backups': restored }),
  }
}
