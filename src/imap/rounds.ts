import type { Pause } from './budget.ts'
import { ImapFault } from './fault.ts'
import { type FolderMarks, folderMarks, openFolder, type SpecialFolders } from './folders.ts'
import { type Looking, lookAt, type OpenFolder } from './look.ts'
import type { Removals } from './removal.ts'

/** Looks at an account's folders over one connection. INBOX is open after each, so that the server tells of its mail. */
export interface Rounds {
  /** At INBOX, where the server has just told of something. */
  here(): Promise<Pause | undefined>
  /** At every folder whose UIDNEXT is not where it was. */
  moved(): Promise<Pause | undefined>
  /** Says something, so that neither side takes the other for gone. */
  stayAwake(): Promise<void>
}

export interface RoundsOptions {
  looking: Looking
  removals: Removals | undefined
  special: SpecialFolders
}

const INBOX = 'INBOX'

export function openRounds({ looking, removals, special }: RoundsOptions): Rounds {
  const { session, needs } = looking
  const { spam, trash } = special
  // As far as we have looked at each folder.
  const seen = new Map<string, FolderMarks>()
  let open: OpenFolder | undefined
  // Folders from which mail was removed in this round, or was to be.
  const cleared = new Set<string>()
  let spamRefused = false

  const isMoved = (name: string, marks: FolderMarks) => differ(seen.get(name), marks)

  /** Opens the folder anew: what an open one shows may be older than what STATUS tells. */
  async function visit(name: string): Promise<Pause | undefined> {
    open = undefined
    const marks = await openFolder(session, name, { write: removals !== undefined })
    open = { name, ...marks }
    return isMoved(name, marks) ? lookAround(open) : undefined
  }

  async function lookAround(folder: OpenFolder): Promise<Pause | undefined> {
    const pause = await lookAt(looking, folder)
    if (!pause) {
      const state = await needs.folder(folder.name)
      const uidNext = Math.max(folder.uidNext ?? 0, (state?.lastUid ?? 0) + 1)
      seen.set(folder.name, { uidValidity: folder.uidValidity, uidNext })
    }
    // Once: what the server refuses now it refuses again, and a server that tells no UIDNEXT is looked at each time.
    if (!cleared.has(folder.name) && (await removals?.run(session, folder, trash))) {
      cleared.add(folder.name)
      open = undefined
    }
    return pause
  }

  async function lookAtSpam(): Promise<Pause | undefined> {
    if (!spam) return undefined
    try {
      const marks = await folderMarks(session, spam)
      return isMoved(spam, marks) ? await visit(spam) : undefined
    } catch (error) {
      // INBOX must not suffer where only this folder is refused.
      if (session.fault() || !(error instanceof ImapFault) || error.kind !== 'lost') throw error
      const account = looking.account.masked
      if (!spamRefused) needs.log.warn({ account }, 'the spam folder cannot be looked at')
      spamRefused = true
      return undefined
    }
  }

  /** Until it is open with nothing new in it. */
  async function backToInbox(): Promise<Pause | undefined> {
    let pause: Pause | undefined
    while (open?.name !== INBOX && !pause) pause = await visit(INBOX)
    return pause
  }

  return {
    async here() {
      cleared.clear()
      // What SELECT said of it is old by now.
      const pause = open ? await lookAround({ ...open, uidNext: undefined }) : undefined
      return pause ?? backToInbox()
    },
    async moved() {
      cleared.clear()
      if (open && isMoved(INBOX, await folderMarks(session, INBOX))) open = undefined
      const pause = (await backToInbox()) ?? (await lookAtSpam())
      return (await backToInbox()) ?? pause
    },
    stayAwake: async () => void (await folderMarks(session, INBOX)),
  }
}

/** Also when one of them does not tell. */
function differ(before: FolderMarks | undefined, marks: FolderMarks): boolean {
  if (!before || before.uidNext === undefined || marks.uidNext === undefined) return true
  return before.uidValidity !== marks.uidValidity || before.uidNext !== marks.uidNext
}
