import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addBackupCommands, type BackupActions } from './backup.ts'

type Restored = Awaited<ReturnType<BackupActions['restore']>>
const CONTENTS = { keys: 1, orders: 0, blocks: 2, addresses: 3, bytes: 4_000 }

/** What is printed for these arguments. */
async function run(args: string[], actions: Partial<BackupActions>): Promise<string> {
  const lines: string[] = []
  const mayfly = new Command('mayfly')
  const none = () => Promise.reject(new Error('not called'))
  const all = { backup: none, restore: none, ...actions }
  addBackupCommands(mayfly, all, (line) => void lines.push(line))
  await mayfly.parseAsync(args, { from: 'user' })
  return lines.join('\n')
}

const restore = (result: Pick<Restored, 'previous' | 'keptMail'>) =>
  run(['restore', 'a.db'], { restore: () => Promise.resolve({ ...CONTENTS, ...result }) })

test('backup passes on its target and how many to keep, and says what it wrote and deleted', async () => {
  const given: unknown[] = []
  const backup: BackupActions['backup'] = async (target, { force, keep }) => {
    given.push([target, force, keep])
    return { ...CONTENTS, file: '/b/mayfly-1.db', deleted: keep ? ['a', 'b'] : [] }
  }
  expect(await run(['backup'], { backup })).toBe(
    'Wrote /b/mayfly-1.db: 1 key, 0 orders, 2 blocks and 3 addresses, 4 kB; verified.',
  )
  expect(await run(['backup', '/b', '--keep', '7'], { backup })).toMatch(
    /verified\.\nDeleted 2 older backups\.$/,
  )
  await run(['backup', 'c.db', '--force'], { backup })
  expect(given).toEqual([
    [undefined, false, undefined],
    ['/b', false, 7],
    ['c.db', true, undefined],
  ])
  await expect(run(['backup', '/b', '--keep', '0'], { backup })).rejects.toThrow(/--keep/)
})

test('restore says what became of a mail.db that was there', async () => {
  const kept = await restore({ previous: { shop: 'S', mail: undefined }, keptMail: true })
  expect(kept).toMatch(
    /mail\.db was kept, with its mail and sessions\. .* that it lacked were added/,
  )
  expect(kept).toMatch(/mayfly ledger show/)
  const replaced = await restore({ previous: { shop: 'S', mail: 'M' }, keptMail: false })
  expect(replaced).toMatch(
    /The previous shop is in S\nThe previous mail\.db, with its mail, is in M/,
  )
  // It may also be damaged, or made by an earlier restore.
  expect(replaced).not.toMatch(/another installation/)
  const none = await restore({
    previous: { shop: undefined, mail: undefined },
    keptMail: undefined,
  })
  expect(none).toMatch(/Sessions and mail no longer exist.*mayfly ledger show.*no shop before/s)
  expect(none).toMatch(/except permanent addresses.*\/sessions\/roll-token/s)
})
