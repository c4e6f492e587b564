import type { FolderState } from '../core/gmail.ts'
import type { Looking, OpenFolder } from './look.ts'
import type { ImapSession } from './session.ts'

/** What is to be looked at in a folder. */
export interface Unseen {
  /** In rising order. */
  uids: number[]
  /** Mail that came before is for nobody; undefined: all of it may be for somebody. */
  since: Date | undefined
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
// The server's clock is not ours.
const CLOCKS_APART = 10 * MINUTE

/**
 * UIDs above the last one, while the numbering is the one we know. Else, and at the very first look, all since the oldest
 * alias that lives: what is older is for nobody, and what was kept before is known by its identity.
 */
export async function unseenIn(looking: Looking, folder: OpenFolder): Promise<Unseen> {
  const { needs, session, account } = looking
  const known = await needs.folder(folder.name)
  if (known && isSameNumbering(known, folder)) {
    return { uids: await uidsAfter(session, known.lastUid), since: undefined }
  }
  if (known) {
    needs.log.info({ account: account.masked }, 'a folder is numbered anew; looked at again')
  }
  const oldest = await needs.oldestAlias()
  const uids = oldest ? await session.search({ since: dayBefore(oldest) }) : []
  if (uids.length === 0) {
    const lastUid = (folder.uidNext ?? (await highestUid(session)) + 1) - 1
    await needs.passed(folder.name, { uidValidity: folder.uidValidity, lastUid })
  }
  return { uids, since: oldest && new Date(oldest.getTime() - CLOCKS_APART) }
}

/** False also when UIDs begin anew although the server says they do not. */
function isSameNumbering(known: FolderState, { uidValidity, uidNext }: OpenFolder): boolean {
  return known.uidValidity === uidValidity && (uidNext === undefined || uidNext > known.lastUid)
}

async function uidsAfter(session: ImapSession, lastUid: number): Promise<number[]> {
  // RFC 3501 6.4.8: a range that ends with `*` has the last mail in it even when that is older.
  const uids = await session.search({ uid: `${lastUid + 1}:*` })
  return uids.filter((uid) => uid > lastUid)
}

async function highestUid(session: ImapSession): Promise<number> {
  return (await session.search({ all: true })).at(-1) ?? 0
}

/** SINCE knows days only, and each server its own time zone. The library may count back from the machine's own clock. */
function dayBefore(time: Date): Date {
  return new Date(Math.min(time.getTime(), Date.now()) - DAY)
}
