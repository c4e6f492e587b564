import { type ImapSession, openLogin } from './connection.ts'
import { ImapFault } from './fault.ts'
import { type ListedFolder, listFolders, specialFolders } from './folders.ts'
import { type AccountOptions, USUAL_LIMITS, USUAL_TEMPO } from './options.ts'

/** How a login went, for the operator to read. */
type AccountTest = { ok: false; reason: string } | ({ ok: true } & AccountFacts)

interface AccountFacts {
  folders: ListedFolder[]
  /** The folders that are looked at beside INBOX, or moved to; undefined: there is none. */
  spam: string | undefined
  trash: string | undefined
  /** Whether the server tells of new mail at once. */
  idle: boolean
  /** Whether it knows Gmail's own ids. */
  gmail: boolean
}

/** Logs in once, lists the folders and leaves. Nothing there is changed. */
export async function testAccount(
  account: AccountOptions,
  now: () => Date = () => new Date(),
): Promise<AccountTest> {
  const tempo = { ...USUAL_TEMPO, ...account.tempo }
  const limits = { ...USUAL_LIMITS, ...account.limits }
  const connect = openLogin(account, { tempo, limits, news() {}, ended: NEVER }, now)
  let session: ImapSession | undefined
  try {
    session = await connect()
    const folders = await listFolders(session)
    const { idles: idle, gmail } = session
    return { ok: true, folders, ...specialFolders(folders), idle, gmail }
  } catch (error) {
    if (error instanceof ImapFault) return { ok: false, reason: error.message }
    throw error
  } finally {
    await session?.close()
  }
}

const NEVER = new AbortController().signal
