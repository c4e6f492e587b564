import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addBackupCommands, type BackupActions } from './backup.ts'

type Restored = Awaited<ReturnType<BackupActions['restore']>>
const CONTENTS = { keys: 1, orders: 0, blocks: 2, addresses: 3, bytes: 4_000 }

/** What is printed for this result. */
async function restore(result: Pick<Restored, 'previous' | 'keptMail'>): Promise<string> {
  const lines: string[] = []
  const mayfly = new Command('mayfly')
  const actions: BackupActions = {
    backup: () => Promise.reject(new Error('not called')),
    restore: () => Promise.resolve({ ...CONTENTS, ...result }),
  }
  addBackupCommands(mayfly, actions, (line) => void lines.push(line))
  await mayfly.parseAsync(['restore', 'a.db'], { from: 'user' })
  return lines.join('\n')
}

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
})
