import type { ImapSession } from './connection.ts'

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
