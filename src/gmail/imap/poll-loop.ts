import type { Pause } from './budget.ts'
import { retryDeferred } from './deferred.ts'
import { ImapError } from './errors.ts'
import { type FetchContext, fetchNewMail } from './fetch.ts'
import {
  type FolderStatus,
  fetchFolderStatus,
  listFolders,
  type OpenFolder,
  openFolder,
  type SpecialFolders,
  specialFolders,
} from './folders.ts'
import type { AccountTiming } from './options.ts'
import type { Removals } from './removal.ts'

interface PollLoop {
  context: FetchContext
  wakeSignal: WakeSignal
  /** Undefined: fetched mail stays in the account. */
  removals: Removals | undefined
  timing: AccountTiming
  random(): number
  /** Everything received so far is fetched, or fetching pauses. */
  onPolled(pause: Pause | undefined): Promise<void>
}

/**
 * Fetches mail while the connection lasts: at once when the server pushes, otherwise by polling UIDNEXT. Throws the error that
 * closed the connection; returns when aborted.
 */
export async function runPollLoop(loop: PollLoop): Promise<void> {
  const { context, wakeSignal } = loop
  const { connection, signal, deps } = context
  const poller = openPoller(loop, specialFolders(await listFolders(connection)))
  const nextRound = () => performance.now() + loop.timing.pollMs * (0.8 + 0.4 * loop.random())
  let pause = await poller.poll()
  let roundAt = nextRound()
  while (!signal.aborted) {
    await loop.onPolled(pause)
    connection.startIdle()
    const pausedMs = pause ? remainingMs(pause, deps.now()) : Infinity
    const reasons = await wakeSignal.wait(Math.min(roundAt - performance.now(), pausedMs))
    if (signal.aborted) return
    const error = connection.error()
    if (error) throw error
    const isPushed = reasons.has('push')
    const isRoundDue = pause || reasons.has('other') || performance.now() >= roundAt
    if (isPushed && !isRoundDue) {
      pause = await poller.pollInbox()
      continue
    }
    if (pause && remainingMs(pause, deps.now()) > 0) await poller.keepAlive()
    else pause = await poller.poll({ isPushed })
    roundAt = nextRound()
  }
}

// A pause that seems longer was set before the clock was set back.
const MAX_PAUSE_MS = 25 * 60 * 60_000

function remainingMs({ until }: Pause, now: Date): number {
  const ms = until.getTime() - now.getTime()
  return ms > 0 && ms <= MAX_PAUSE_MS ? ms : 0
}

const INBOX = 'INBOX'

/** Polls the folders of an account over one connection. INBOX is open afterwards, so that the server pushes its new mail. */
function openPoller(loop: PollLoop, { spam, trash }: SpecialFolders) {
  const folders = openFolderSync(loop, trash)
  const inSpam = spamFolderGuard(loop.context, spam)

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
    /** Fetches from every folder whose UIDNEXT has changed, then retries deferred mail. */
    async poll({ isPushed = false } = {}): Promise<Pause | undefined> {
      folders.startRound()
      let pause = (isPushed ? await folders.syncOpenFolder() : undefined) ?? (await fetchNew())
      let more = true
      // New mail first each time: a backlog of deferred mail must not delay it.
      while (more && !pause) {
        const inInbox = await folders.retryDeferred(INBOX)
        more = (await inSpam(folders.retryDeferred)) || inInbox
        pause = more ? await fetchNew() : await backToInbox()
      }
      return pause
    },
    /** After a push: other folders are polled no more often for it. */
    async pollInbox(): Promise<Pause | undefined> {
      folders.startRound()
      return (await folders.syncOpenFolder()) ?? (await backToInbox())
    },
    /** A command that keeps the idle connection open. */
    keepAlive: () => fetchFolderStatus(loop.context.connection, INBOX),
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
function openFolderSync({ context, removals }: PollLoop, trash: string | undefined) {
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
    /** Undefined if none is open, or the open one is out of date. */
    openFolderName: () => open?.name,
    /** Allows removals to be tried again. */
    startRound: () => cleared.clear(),
    hasChanged: async (name: string) =>
      statusDiffers(synced.get(name), await fetchFolderStatus(connection, name)),
    /** Reopens the folder and fetches its new mail. */
    async sync(name: string): Promise<Pause | undefined> {
      const folder = await reopen(name)
      return statusDiffers(synced.get(name), folder) ? syncFolder(folder) : undefined
    },
    /** Fetches new mail of the open folder. The UIDNEXT of SELECT is out of date by now. */
    syncOpenFolder: async () => (open ? syncFolder({ ...open, uidNext: undefined }) : undefined),
    /** True if there may be more. */
    async retryDeferred(name: string): Promise<boolean> {
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

export type WakeSignal = ReturnType<typeof openWakeSignal>

export function openWakeSignal() {
  let reasons = new Set<'push' | 'other'>()
  let resume = () => {}
  return {
    wake(reason: 'push' | 'other'): void {
      reasons.add(reason)
      resume()
    },
    /** Resolves when woken since the last call, with the reasons, or at the timeout. */
    async wait(timeoutMs: number): Promise<ReadonlySet<'push' | 'other'>> {
      if (reasons.size === 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, timeoutMs)
        resume = resolve
        await promise
        clearTimeout(timer)
      }
      const given = reasons
      reasons = new Set()
      return given
    },
  }
}
