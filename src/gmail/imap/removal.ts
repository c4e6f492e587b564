import type { Log } from '../../base/log/log.ts'
import type { ImapConnection } from './connection.ts'
import { ImapError } from './errors.ts'
import { openFolder } from './folders.ts'

/** UIDs are valid only under this UIDVALIDITY. */
interface FolderVersion {
  name: string
  uidValidity: number
}

// The pending limit is reached only if the server refuses every removal.
const MAX_PER_COMMAND = 200
const MAX_PENDING = 2_000

export type Removals = ReturnType<typeof openRemovals>

/** Stored mail that is to be removed from the account. In memory: mail forgotten in a crash stays in the account. */
export function openRemovals(account: string, log: Pick<Log, 'warn'>) {
  const fetched = new Map<string, number[]>()
  const trashed = new Map<string, number[]>()
  let lastWarning = ''

  function warnOnce(message: string): void {
    if (lastWarning !== message) log.warn({ account }, message)
    lastWarning = message
  }

  async function moveToTrash(connection: ImapConnection, open: FolderVersion, trash: string) {
    await inBatches(fetched.get(keyOf(open)) ?? [], async (uids) => {
      const { uidValidity, uidMap } = await connection.run((client) =>
        client.messageMove(uids, trash, { uid: true }),
      )
      if (!uidValidity || !uidMap) return
      addUids(trashed, { name: trash, uidValidity: Number(uidValidity) }, [...uidMap.values()])
    })
    fetched.delete(keyOf(open))
  }

  async function expungeFromTrash(connection: ImapConnection, trash: string) {
    if (trashed.size === 0) return
    const { uidValidity } = await openFolder(connection, trash, { write: true })
    await inBatches(trashed.get(keyOf({ name: trash, uidValidity })) ?? [], (uids) =>
      connection.run((client) => client.messageDelete(uids, { uid: true })),
    )
    // Mail moved there under another UIDVALIDITY cannot be found again.
    trashed.clear()
  }

  return {
    add: (folder: FolderVersion, uid: number) => addUids(fetched, folder, [uid]),
    /**
     * Moves fetched mail of the open folder to the trash and expunges it there. True if another folder is open afterwards. If
     * the server refuses, it is tried again after the next poll.
     */
    async run(connection: ImapConnection, open: FolderVersion, trash: string | undefined) {
      const isPending = fetched.has(keyOf(open)) || (trash !== undefined && trashed.size > 0)
      if (!isPending || open.name === trash) return false
      if (!trash || !connection.hasUidPlus) {
        // A plain EXPUNGE would also delete messages that others have marked.
        warnOnce('fetched mail is not removed: the server has no trash folder or lacks UIDPLUS')
        fetched.delete(keyOf(open))
        return false
      }
      try {
        await moveToTrash(connection, open, trash)
        await expungeFromTrash(connection, trash)
        lastWarning = ''
      } catch (error) {
        if (connection.error() || !(error instanceof ImapError)) throw error
        warnOnce('the server refused to remove fetched mail; retrying')
      }
      return true
    },
  }
}

/** UIDs leave the list as they are processed: after a failure, the rest is tried again. */
async function inBatches(uids: number[], operation: (range: string) => Promise<unknown>) {
  while (uids.length > 0) {
    const batch = uids.slice(0, MAX_PER_COMMAND)
    await operation(batch.join(','))
    uids.splice(0, batch.length)
  }
}

function keyOf({ name, uidValidity }: FolderVersion): string {
  return `${uidValidity} ${name}`
}

function addUids(map: Map<string, number[]>, folder: FolderVersion, uids: number[]): void {
  const pending = map.get(keyOf(folder)) ?? []
  if (pending.length < MAX_PENDING) map.set(keyOf(folder), [...pending, ...uids])
}
