import type { Pause } from './budget.ts'
import { retryDeferred } from './deferred.ts'
import { type Looking, lookAt, type OpenFolder } from './fetch.ts'
import { type FolderMarks, folderMarks, openFolder } from './folders.ts'
import type { Removals } from './removal.ts'

/** Looks at one folder at a time over one connection, and remembers how far each was looked at. */
interface Visits {
  /** The name of the folder that is open, and shows all that we know of. */
  open(): string | undefined
  /** Forgets what was tried to be removed in the last round. */
  newRound(): void
  /** Whether there may be something new in the folder. */
  isMoved(name: string): Promise<boolean>
  /** Opens the folder anew, and takes in what is new there. */
  visit(name: string): Promise<Pause | undefined>
  /** Takes in what is new in the open folder. */
  lookAgain(): Promise<Pause | undefined>
  /** Tries mail of the folder again that was deferred. True if there may be more of it. */
  retry(name: string): Promise<boolean>
}

interface VisitsOptions {
  looking: Looking
  removals: Removals | undefined
  trash: string | undefined
}

export function openVisits({ looking, removals, trash }: VisitsOptions): Visits {
  const { session, deps } = looking
  // As far as we have looked at each folder.
  const seen = new Map<string, FolderMarks>()
  let open: OpenFolder | undefined
  // Folders from which mail was removed in this round, or was to be.
  const cleared = new Set<string>()

  /** Anew: what an open folder shows may be older than what STATUS tells. */
  async function openAnew(name: string): Promise<OpenFolder> {
    open = undefined
    const marks = await openFolder(session, name, { write: removals !== undefined })
    open = { name, ...marks }
    return open
  }

  async function lookAround(folder: OpenFolder): Promise<Pause | undefined> {
    const { name, uidValidity } = folder
    const pause = await lookAt(looking, folder)
    if (!pause) {
      // All of it was looked at under this numbering: what was deferred under another is deferred anew, or gone.
      if (seen.get(name)?.uidValidity !== uidValidity)
        await deps.deleteDeferred(name, uidValidity, [])
      const state = await deps.folder(name)
      const uidNext = Math.max(folder.uidNext ?? 0, (state?.lastUid ?? 0) + 1)
      seen.set(name, { uidValidity, uidNext })
    }
    // Once: what the server refuses now it refuses again, and a server that tells no UIDNEXT is looked at each time.
    if (!cleared.has(name) && (await removals?.run(session, folder, trash))) {
      cleared.add(name)
      open = undefined
    }
    return pause
  }

  return {
    open: () => open?.name,
    newRound: () => cleared.clear(),
    isMoved: async (name) => differ(seen.get(name), await folderMarks(session, name)),
    async visit(name) {
      const folder = await openAnew(name)
      return differ(seen.get(name), folder) ? lookAround(folder) : undefined
    },
    // What SELECT said of it is old by now.
    lookAgain: async () => (open ? lookAround({ ...open, uidNext: undefined }) : undefined),
    async retry(name) {
      const marks = seen.get(name)
      if (!marks || (await deps.deferred(name, marks.uidValidity)).length === 0) return false
      const folder = open?.name === name ? open : await openAnew(name)
      if (folder.uidValidity !== marks.uidValidity) return false
      const more = await retryDeferred(looking, folder)
      if (await removals?.run(session, folder, trash)) open = undefined
      return more
    },
  }
}

/** Also when one of them does not tell. */
function differ(before: FolderMarks | undefined, marks: FolderMarks): boolean {
  if (!before || before.uidNext === undefined || marks.uidNext === undefined) return true
  return before.uidValidity !== marks.uidValidity || before.uidNext !== marks.uidNext
}
