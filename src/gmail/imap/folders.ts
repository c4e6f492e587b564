import type { FolderState } from '../rules.ts'
import type { ImapConnection } from './connection.ts'
import type { ImapDeps } from './options.ts'

export interface FolderStatus {
  uidValidity: number
  /** Undefined if the server does not report it. */
  uidNext: number | undefined
}

export interface OpenFolder extends FolderStatus {
  name: string
}

export interface SpecialFolders {
  spam: string | undefined
  trash: string | undefined
}

interface ListedFolder {
  name: string
  /** `\Junk`, `\Trash`, …; undefined for an ordinary folder. */
  use: string | undefined
}

export async function listFolders(connection: ImapConnection): Promise<ListedFolder[]> {
  const folders = await connection.run((client) => client.list())
  return folders
    .filter(({ flags }) => !flags.has('\\Noselect'))
    .map(({ path, specialUse }) => ({ name: path, use: specialUse }))
}

export function specialFolders(folders: readonly ListedFolder[]): SpecialFolders {
  const withUse = (wanted: string) => folders.find(({ use }) => use === wanted)?.name
  const gmailSpam = folders.find(({ name }) => /^\[(Gmail|Google Mail)\]\/Spam$/.test(name))?.name
  return { spam: withUse('\\Junk') ?? gmailSpam, trash: withUse('\\Trash') }
}

/** Opens a folder; read-only unless `write`, so that no flag changes. */
export async function openFolder(
  connection: ImapConnection,
  name: string,
  { write }: { write: boolean },
): Promise<FolderStatus> {
  const { uidValidity, uidNext } = await connection.run((client) =>
    client.mailboxOpen(name, { readOnly: !write }),
  )
  return { uidValidity: Number(uidValidity), uidNext }
}

/** Whether or not the folder is open. */
export async function fetchFolderStatus(
  connection: ImapConnection,
  name: string,
): Promise<FolderStatus> {
  const { uidValidity, uidNext } = await connection.run((client) =>
    client.status(name, { uidNext: true, uidValidity: true }),
  )
  return { uidValidity: Number(uidValidity ?? 0), uidNext }
}

interface FolderContext {
  deps: ImapDeps
  connection: ImapConnection
  account: { masked: string }
}

interface NewUids {
  /** In ascending order. */
  uids: number[]
  /** Nothing else is new up to this UID; undefined: up to the last of `uids`. */
  upTo: number | undefined
  /** Creation of the oldest alias, if older mail is to be ignored. */
  since: Date | undefined
}

const DAY = 24 * 60 * 60_000
// Cheaper to fetch the heads of so few than to search by date.
const FEW = 50

/**
 * UIDs above the last one fetched, while the UIDVALIDITY is the known one. Otherwise, and on the first poll, everything since
 * the oldest live alias was created: older mail is for nobody, and mail stored before is recognized by its identity.
 */
export async function findNewUids(context: FolderContext, folder: OpenFolder): Promise<NewUids> {
  const { deps, connection, account } = context
  const known = await deps.readFolder(folder.name)
  if (known && isSameUidSpace(known, folder)) {
    const uids = await uidsAfter(connection, known.lastUid)
    if (uids.length <= FEW) return { uids, upTo: undefined, since: undefined }
    // After a long outage: new mail must not wait until a month of old mail was examined.
    const recent = await uidsSinceOldestAlias(context, `${known.lastUid + 1}:*`)
    return { ...recent, upTo: uids.at(-1) }
  }
  if (known) {
    deps.log.info({ account: account.masked }, 'UIDs of a folder have changed; fetching it again')
  }
  const recent = await uidsSinceOldestAlias(context, '1:*')
  if (recent.uids.length > 0) return { ...recent, upTo: undefined }
  const highest = async () => (await connection.search({ all: true })).at(-1) ?? 0
  return { ...recent, upTo: folder.uidNext === undefined ? await highest() : folder.uidNext - 1 }
}

async function uidsSinceOldestAlias(
  { deps, connection }: FolderContext,
  range: string,
): Promise<Pick<NewUids, 'uids' | 'since'>> {
  const since = await deps.oldestAlias()
  if (!since) return { uids: [], since }
  return { uids: await connection.search({ uid: range, since: dayBefore(since) }), since }
}

/** False also if UIDs start over although UIDVALIDITY is unchanged. */
function isSameUidSpace(known: FolderState, { uidValidity, uidNext }: OpenFolder): boolean {
  return known.uidValidity === uidValidity && (uidNext === undefined || uidNext > known.lastUid)
}

async function uidsAfter(connection: ImapConnection, lastUid: number): Promise<number[]> {
  // RFC 3501 6.4.8: a range that ends with `*` includes the last message even if its UID is lower.
  const uids = await connection.search({ uid: `${lastUid + 1}:*` })
  return uids.filter((uid) => uid > lastUid)
}

/** SINCE has a resolution of days, in the server's time zone. The library may count from the clock of this machine. */
function dayBefore(time: Date): Date {
  return new Date(Math.min(time.getTime(), Date.now()) - DAY)
}
