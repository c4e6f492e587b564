import type { Pause } from './budget.ts'
import { ImapFault } from './fault.ts'
import { folderMarks, type SpecialFolders } from './folders.ts'
import type { Looking } from './fetch-new.ts'
import type { Removals } from './removal.ts'
import { openVisits } from './visits.ts'

/** Looks at an account's folders over one connection. INBOX is open after each, so that the server tells of its mail. */
export interface Rounds {
  /** At INBOX, where the server has just told of something. */
  here(): Promise<Pause | undefined>
  /** At every folder whose UIDNEXT is not where it was, then at mail that was deferred. */
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
  const { spam, trash } = special
  const visits = openVisits({ looking, removals, trash })
  const unlessRefused = spamGuard(looking, spam)

  /** Until it is open with nothing new in it. */
  async function backToInbox(): Promise<Pause | undefined> {
    let pause: Pause | undefined
    while (visits.open() !== INBOX && !pause) pause = await visits.visit(INBOX)
    return pause
  }

  async function visitMoved(name: string): Promise<Pause | undefined> {
    return (await visits.isMoved(name)) ? await visits.visit(name) : undefined
  }

  /** At new mail, in all folders. */
  async function lookAtNew(): Promise<Pause | undefined> {
    const inInbox = visits.open() ? await visitMoved(INBOX) : undefined
    const pause = inInbox ?? (await backToInbox()) ?? (await unlessRefused(visitMoved))
    return (await backToInbox()) ?? pause
  }

  return {
    async here() {
      visits.newRound()
      return (await visits.lookAgain()) ?? (await backToInbox())
    },
    async moved() {
      visits.newRound()
      let pause = await lookAtNew()
      let more = true
      // After new mail each time: a backlog must not hold it up.
      while (more && !pause) {
        const inInbox = await visits.retry(INBOX)
        more = (await unlessRefused(visits.retry)) || inInbox
        pause = more ? await lookAtNew() : await backToInbox()
      }
      return pause
    },
    stayAwake: async () => void (await folderMarks(looking.session, INBOX)),
  }
}

/** Looks at the spam folder, if there is one. INBOX must not suffer where only this folder is refused. */
function spamGuard({ session, needs, account }: Looking, spam: string | undefined) {
  let told = false
  return async <T>(look: (name: string) => Promise<T>): Promise<T | undefined> => {
    if (!spam) return undefined
    try {
      return await look(spam)
    } catch (error) {
      if (session.fault() || !(error instanceof ImapFault) || error.kind !== 'lost') throw error
      if (!told) needs.log.warn({ account: account.masked }, 'the spam folder cannot be looked at')
      told = true
      return undefined
    }
  }
}
