import type { Log } from '../core/log.ts'
import type { ImapSession } from './connection.ts'
import { ImapFault } from './errors.ts'
import { openFolder } from './folders.ts'

/** Mail that was kept here and is to go from the account. In memory: what a crash forgets stays in the account. */
export interface Removals {
  add(place: Numbering, uid: number): void
  /**
   * Moves what was fetched from the open folder to the trash, and empties that of it. True when another folder is open
   * afterwards. What the server refuses stays, and is tried again after the next look.
   */
  run(session: ImapSession, open: Numbering, trash: string | undefined): Promise<boolean>
}

/** A folder and the numbering its UIDs belong to: after another SELECT they may be other mails'. */
interface Numbering {
  name: string
  uidValidity: number
}

// Of one command. More than ten of these wait only where the server refuses all of it.
const AT_ONCE = 200
const MAX_WAITING = 2_000

export function openRemovals(account: string, log: Pick<Log, 'warn'>): Removals {
  const fetched = new Map<string, number[]>()
  const trashed = new Map<string, number[]>()
  let told = ''

  function tell(sentence: string): void {
    if (told !== sentence) log.warn({ account }, sentence)
    told = sentence
  }

  return {
    add: (place, uid) => put(fetched, place, [uid]),
    async run(session, open, trash) {
      const waits = fetched.has(keyOf(open)) || (trash !== undefined && trashed.size > 0)
      if (!waits || open.name === trash) return false
      if (!trash || !session.uidPlus) {
        // A plain EXPUNGE would take along what others have marked.
        tell('fetched mail stays: there is no trash, or the server cannot expunge a single mail')
        fetched.delete(keyOf(open))
        return false
      }
      try {
        await moveAll(session, { open, trash, fetched, trashed })
        await emptyOf(session, trash, trashed)
        told = ''
      } catch (error) {
        if (session.fault() || !(error instanceof ImapFault)) throw error
        tell('the server does not let us remove fetched mail; tried again')
      }
      return true
    },
  }
}

interface Move {
  open: Numbering
  trash: string
  fetched: Map<string, number[]>
  trashed: Map<string, number[]>
}

async function moveAll(session: ImapSession, { open, trash, fetched, trashed }: Move) {
  const uids = fetched.get(keyOf(open)) ?? []
  while (uids.length > 0) {
    const some = uids.slice(0, AT_ONCE)
    const moved = await session.ask((client) =>
      client.messageMove(some.join(','), trash, { uid: true }),
    )
    uids.splice(0, some.length)
    if (moved.uidValidity && moved.uidMap) {
      const place = { name: trash, uidValidity: Number(moved.uidValidity) }
      put(trashed, place, [...moved.uidMap.values()])
    }
  }
  fetched.delete(keyOf(open))
}

async function emptyOf(session: ImapSession, trash: string, trashed: Map<string, number[]>) {
  if (trashed.size === 0) return
  const { uidValidity } = await openFolder(session, trash, { write: true })
  const uids = trashed.get(keyOf({ name: trash, uidValidity })) ?? []
  while (uids.length > 0) {
    const some = uids.slice(0, AT_ONCE)
    await session.ask((client) => client.messageDelete(some.join(','), { uid: true }))
    uids.splice(0, some.length)
  }
  // What was there under another numbering cannot be found again.
  trashed.clear()
}

function keyOf({ name, uidValidity }: Numbering): string {
  return `${uidValidity} ${name}`
}

function put(map: Map<string, number[]>, place: Numbering, uids: number[]): void {
  const waiting = map.get(keyOf(place)) ?? []
  if (waiting.length < MAX_WAITING) map.set(keyOf(place), [...waiting, ...uids])
}
