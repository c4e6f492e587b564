import type { Pause } from './budget.ts'
import { retryDeferred } from './deferred.ts'
import { ImapError } from './errors.ts'
import { type FetchContext, fetchNewMail, type OpenFolder } from './fetch.ts'
import { type FolderStatus, fetchFolderStatus, openFolder, type SpecialFolders } from './folders.ts'
import type { Removals } from './removal.ts'

/** Polls the folders of an account over one connection. INBOX is open afterwards, so that the server pushes its new mail. */
interface Poller {
  /** Fetches from INBOX after a push. */
  pollInbox(): Promise<Pause | undefined>
  /** Fetches from every folder whose UIDNEXT has changed, then retries deferred mail. */
  pollAll(): Promise<Pause | undefined>
  /** A command that keeps the idle connection open. */
  keepAlive(): Promise<void>
}

interface PollerOptions {
  context: FetchContext
  /** Undefined: fetched mail stays in the account. */
  removals: Removals | undefined
  special: SpecialFolders
}

const INBOX = 'INBOX'

export function openPoller({ context, removals, special }: PollerOptions): Poller {
  const { spam, trash } = special
  const folders = openFolderSync({ context, removals, trash })
  const inSpam = spamFolderGuard(context, spam)

  /** Until it is open and has nothing new. */
  async function backToInbox(): Promise<Pause | undefined> {
    let pause: Pause | undefined
    while (folders.openFolderName() !== INBOX && !pause) pause = await folders.sync(INBOX)
    return pause
  }

  async function syncChanged(name: string): Promise<Pause | undefined> {
    return (await folders.hasChanged(name)) ? await folders.sync(name) : undefined
  }

  async function fetchNew(): Promise<Pause | undefined> {
    const inInbox = folders.openFolderName() ? await syncChanged(INBOX) : undefined
    const pause = inInbox ?? (await backToInbox()) ?? (await inSpam(syncChanged))
    return (await backToInbox()) ?? pause
  }

  return {
    async pollInbox() {
      folders.startRound()
      return (await folders.syncOpenFolder()) ?? (await backToInbox())
    },
    async pollAll() {
      folders.startRound()
      let pause = await fetchNew()
      let more = true
      // New mail first each time: a backlog of deferred mail must not delay it.
      while (more && !pause) {
        const inInbox = await folders.retryDeferred(INBOX)
        more = (await inSpam(folders.retryDeferred)) || inInbox
        pause = more ? await fetchNew() : await backToInbox()
      }
      return pause
    },
    keepAlive: async () => void (await fetchFolderStatus(context.connection, INBOX)),
  }
}

/** Runs an operation on the spam folder, if there is one. Its refusal must not affect INBOX. */
function spamFolderGuard({ connection, deps, account }: FetchContext, spam: string | undefined) {
  let isLogged = false
  return async <T>(operation: (name: string) => Promise<T>): Promise<T | undefined> => {
    if (!spam) return undefined
    try {
      return await operation(spam)
    } catch (error) {
      if (connection.error() || !(error instanceof ImapError) || error.kind !== 'lost') throw error
      if (!isLogged) deps.log.warn({ account: account.masked }, 'spam folder cannot be read')
      isLogged = true
      return undefined
    }
  }
}

/** Fetches one folder at a time and remembers how far each was fetched. */
interface FolderSync {
  /** Undefined if none is open, or the open one is out of date. */
  openFolderName(): string | undefined
  /** Allows removals to be tried again. */
  startRound(): void
  /** Whether there may be new mail in the folder. */
  hasChanged(name: string): Promise<boolean>
  /** Reopens the folder and fetches its new mail. */
  sync(name: string): Promise<Pause | undefined>
  /** Fetches new mail of the open folder. */
  syncOpenFolder(): Promise<Pause | undefined>
  /** Retries deferred mail of the folder. True if there may be more. */
  retryDeferred(name: string): Promise<boolean>
}

interface FolderSyncOptions {
  context: FetchContext
  removals: Removals | undefined
  trash: string | undefined
}

function openFolderSync({ context, removals, trash }: FolderSyncOptions): FolderSync {
  const { connection, deps } = context
  // The status up to which each folder was fetched.
  const synced = new Map<string, FolderStatus>()
  let open: OpenFolder | undefined
  // Folders in which removals were tried in this round.
  const cleared = new Set<string>()

  /** SELECT again: an open folder may lag behind STATUS. */
  async function reopen(name: string): Promise<OpenFolder> {
    open = undefined
    const status = await openFolder(connection, name, { write: removals !== undefined })
    open = { name, ...status }
    return open
  }

  async function syncFolder(folder: OpenFolder): Promise<Pause | undefined> {
    const { name, uidValidity } = folder
    const pause = await fetchNewMail(context, folder)
    if (!pause) {
      // Everything was fetched under this UIDVALIDITY: mail deferred under another one is deferred again by now, or gone.
      if (synced.get(name)?.uidValidity !== uidValidity)
        await deps.deleteDeferred(name, uidValidity, [])
      const state = await deps.readFolder(name)
      const uidNext = Math.max(folder.uidNext ?? 0, (state?.lastUid ?? 0) + 1)
      synced.set(name, { uidValidity, uidNext })
    }
    // Once per round: a refused removal would be refused again, and a server without UIDNEXT is polled each time.
    if (!cleared.has(name) && (await removals?.run(connection, folder, trash))) {
      cleared.add(name)
      open = undefined
    }
    return pause
  }

  return {
    openFolderName: () => open?.name,
    startRound: () => cleared.clear(),
    hasChanged: async (name) =>
      statusDiffers(synced.get(name), await fetchFolderStatus(connection, name)),
    async sync(name) {
      const folder = await reopen(name)
      return statusDiffers(synced.get(name), folder) ? syncFolder(folder) : undefined
    },
    // The UIDNEXT of SELECT is out of date by now.
    syncOpenFolder: async () => (open ? syncFolder({ ...open, uidNext: undefined }) : undefined),
    async retryDeferred(name) {
      const status = synced.get(name)
      if (!status || (await deps.listDeferred(name, status.uidValidity)).length === 0) return false
      const folder = open?.name === name ? open : await reopen(name)
      if (folder.uidValidity !== status.uidValidity) return false
      const more = await retryDeferred(context, folder)
      if (await removals?.run(connection, folder, trash)) open = undefined
      return more
    },
  }
}

/** True also if either lacks UIDNEXT. */
function statusDiffers(before: FolderStatus | undefined, status: FolderStatus): boolean {
  if (!before || before.uidNext === undefined || status.uidNext === undefined) return true
  return before.uidValidity !== status.uidValidity || before.uidNext !== status.uidNext
}
