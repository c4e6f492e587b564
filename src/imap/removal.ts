import type { Log } from '../core/log.ts'
import type { ImapConnection } from './connection.ts'
import { ImapError } from './errors.ts'
import { openFolder } from './folders.ts'

/** Stored mail that is to be removed from the account. In memory: mail forgotten in a crash stays in the account. */
export interface Removals {
  add(folder: FolderVersion, uid: number): void
  /**
   * Moves fetched mail of the open folder to the trash and expunges it there. True if another folder is open afterwards. If the
   * server refuses, it is tried again after the next poll.
   */
  run(connection: ImapConnection, open: FolderVersion, trash: string | undefined): Promise<boolean>
}

/** UIDs are valid only under this UIDVALIDITY. */
interface FolderVersion {
  name: string
  uidValidity: number
}

// The pending limit is reached only if the server refuses every removal.
const MAX_PER_COMMAND = 200
const MAX_PENDING = 2_000

export function openRemovals(account: string, log: Pick<Log, 'warn'>): Removals {
  const fetched = new Map<string, number[]>()
  const trashed = new Map<string, number[]>()
  let lastWarning = ''

  function warnOnce(message: string): void {
    if (lastWarning !== message) log.warn({ account }, message)
    lastWarning = message
  }

  return {
    add: (folder, uid) => addUids(fetched, folder, [uid]),
    async run(connection, open, trash) {
      const isPending = fetched.has(keyOf(open)) || (trash !== undefined && trashed.size > 0)
      if (!isPending || open.name === trash) return false
      if (!trash || !connection.hasUidPlus) {
        // A plain EXPUNGE would also delete messages that others have marked.
        warnOnce('fetched mail is not removed: the server has no trash folder or lacks UIDPLUS')
        fetched.delete(keyOf(open))
        return false
      }
      try {
        await moveToTrash(connection, { open, trash, fetched, trashed })
        await expungeFromTrash(connection, trash, trashed)
        lastWarning = ''
      } catch (error) {
        if (connection.error() || !(error instanceof ImapError)) throw error
        warnOnce('the server refused to remove fetched mail; retrying')
      }
      return true
    },
  }
}

interface TrashMove {
  open: FolderVersion
  trash: string
  fetched: Map<string, number[]>
  trashed: Map<string, number[]>
}

async function moveToTrash(
  connection: ImapConnection,
  { open, trash, fetched, trashed }: TrashMove,
) {
  const uids = fetched.get(keyOf(open)) ?? []
  while (uids.length > 0) {
    const batch = uids.slice(0, MAX_PER_COMMAND)
    const moved = await connection.run((client) =>
      client.messageMove(batch.join(','), trash, { uid: true }),
    )
    uids.splice(0, batch.length)
    if (moved.uidValidity && moved.uidMap) {
      const folder = { name: trash, uidValidity: Number(moved.uidValidity) }
      addUids(trashed, folder, [...moved.uidMap.values()])
    }
  }
  fetched.delete(keyOf(open))
}

async function expungeFromTrash(
  connection: ImapConnection,
  trash: string,
  trashed: Map<string, number[]>,
) {
  if (trashed.size === 0) return
  const { uidValidity } = await openFolder(connection, trash, { write: true })
  const uids = trashed.get(keyOf({ name: trash, uidValidity })) ?? []
  while (uids.length > 0) {
    const batch = uids.slice(0, MAX_PER_COMMAND)
    await connection.run((client) => client.messageDelete(batch.join(','), { uid: true }))
    uids.splice(0, batch.length)
  }
  // Mail moved there under another UIDVALIDITY cannot be found again.
  trashed.clear()
}

function keyOf({ name, uidValidity }: FolderVersion): string {
  return `${uidValidity} ${name}`
}

function addUids(map: Map<string, number[]>, folder: FolderVersion, uids: number[]): void {
  const pending = map.get(keyOf(folder)) ?? []
  if (pending.length < MAX_PENDING) map.set(keyOf(folder), [...pending, ...uids])
}
