import type { FolderState } from '../core/gmail.ts'
import type { ImapSession } from './connection.ts'
import type { Looking, OpenFolder } from './fetch.ts'

/** Where a folder's numbering stands. */
export interface FolderMarks {
  uidValidity: number
  /** Not every server tells. */
  uidNext: number | undefined
}

export interface SpecialFolders {
  spam: string | undefined
  trash: string | undefined
}

export interface ListedFolder {
  name: string
  /** `\Junk`, `\Trash`, …; undefined for a plain folder. */
  use: string | undefined
}

export async function listFolders(session: ImapSession): Promise<ListedFolder[]> {
  const folders = await session.ask((client) => client.list())
  return folders
    .filter(({ flags }) => !flags.has('\\Noselect'))
    .map(({ path, specialUse }) => ({ name: path, use: specialUse }))
}

export function specialFolders(folders: readonly ListedFolder[]): SpecialFolders {
  const named = (wanted: string) => folders.find(({ use }) => use === wanted)?.name
  const gmails = folders.find(({ name }) => /^\[(Gmail|Google Mail)\]\/Spam$/.test(name))?.name
  return { spam: named('\\Junk') ?? gmails, trash: named('\\Trash') }
}

/** Opens a folder, without a trace there unless it is opened for writing. */
export async function openFolder(
  session: ImapSession,
  name: string,
  { write }: { write: boolean },
): Promise<FolderMarks> {
  const { uidValidity, uidNext } = await session.ask((client) =>
    client.mailboxOpen(name, { readOnly: !write }),
  )
  return { uidValidity: Number(uidValidity), uidNext }
}

/** Asked of a folder whether or not it is open. */
export async function folderMarks(session: ImapSession, name: string): Promise<FolderMarks> {
  const { uidValidity, uidNext } = await session.ask((client) =>
    client.status(name, { uidNext: true, uidValidity: true }),
  )
  return { uidValidity: Number(uidValidity ?? 0), uidNext }
}

/** What is to be looked at in a folder. */
interface Unseen {
  /** In rising order. */
  uids: number[]
  /** Up to this UID there is nothing else; undefined: the last of them. */
  upTo: number | undefined
  /** When the oldest alias was made, where this is a look back. */
  since: Date | undefined
}

const DAY = 24 * 60 * 60_000
// So few are looked at sooner than the server is asked which of them are old.
const FEW = 50

/**
 * UIDs above the last one, while the numbering is the one we know. Else, and at the very first look, all since the oldest
 * alias that lives: what is older is for nobody, and what was kept before is known by its identity.
 */
export async function unseenIn(looking: Looking, folder: OpenFolder): Promise<Unseen> {
  const { deps, session, account } = looking
  const known = await deps.folder(folder.name)
  if (known && isSameNumbering(known, folder)) {
    const uids = await uidsAfter(session, known.lastUid)
    if (uids.length <= FEW) return { uids, upTo: undefined, since: undefined }
    // After a pause: what is new must not wait until all of a month was looked at.
    const recent = await sinceOldest(looking, `${known.lastUid + 1}:*`)
    return { ...recent, upTo: uids.at(-1) }
  }
  if (known) {
    deps.log.info({ account: account.masked }, 'a folder is numbered anew; looked at again')
  }
  const recent = await sinceOldest(looking, '1:*')
  if (recent.uids.length > 0) return { ...recent, upTo: undefined }
  return { ...recent, upTo: (folder.uidNext ?? (await highestUid(session)) + 1) - 1 }
}

async function sinceOldest(
  { deps, session }: Looking,
  range: string,
): Promise<Pick<Unseen, 'uids' | 'since'>> {
  const since = await deps.oldestAlias()
  if (!since) return { uids: [], since }
  return { uids: await session.search({ uid: range, since: dayBefore(since) }), since }
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
