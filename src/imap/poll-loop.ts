import type { Pause } from './budget.ts'
import { ImapFault } from './errors.ts'
import type { Looking } from './fetch.ts'
import { openVisits } from './folder-sync.ts'
import { folderMarks, listFolders, type SpecialFolders, specialFolders } from './folders.ts'
import type { AccountTempo } from './options.ts'
import type { Removals } from './removal.ts'

/** Looks at an account's folders over one connection. INBOX is open after each, so that the server tells of its mail. */
interface Rounds {
  /** At INBOX, where the server has just told of something. */
  here(): Promise<Pause | undefined>
  /** At every folder whose UIDNEXT is not where it was, then at mail that was deferred. */
  moved(): Promise<Pause | undefined>
  /** Says something, so that neither side takes the other for gone. */
  stayAwake(): Promise<void>
}

interface RoundsOptions {
  looking: Looking
  removals: Removals | undefined
  special: SpecialFolders
}

const INBOX = 'INBOX'

function openRounds({ looking, removals, special }: RoundsOptions): Rounds {
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
function spamGuard({ session, deps, account }: Looking, spam: string | undefined) {
  let told = false
  return async <T>(look: (name: string) => Promise<T>): Promise<T | undefined> => {
    if (!spam) return undefined
    try {
      return await look(spam)
    } catch (error) {
      if (session.fault() || !(error instanceof ImapFault) || error.kind !== 'lost') throw error
      if (!told) deps.log.warn({ account: account.masked }, 'the spam folder cannot be looked at')
      told = true
      return undefined
    }
  }
}

interface Watch {
  looking: Looking
  bell: WakeSignal
  /** Undefined: what was fetched stays in the account. */
  removals: Removals | undefined
  tempo: AccountTempo
  random(): number
  /** Everything that came so far is in; or it waits, for the account's own good. */
  looked(pause: Pause | undefined): Promise<void>
}

/**
 * Fetches as long as the connection lasts: what the server told of is there at once, all else is found by UIDNEXT. Throws why
 * it ended, unless we were told to end.
 */
export async function watch(part: Watch): Promise<void> {
  const { looking, bell, removals } = part
  const { session, ended, deps } = looking
  const special = specialFolders(await listFolders(session))
  const rounds = openRounds({ looking, removals, special })
  let pause = await rounds.moved()
  let allAt = performance.now()
  while (!ended.aborted) {
    await part.looked(pause)
    session.idle()
    const rings = await bell.heard(restMs(part, pause))
    if (ended.aborted) return
    const fault = session.fault()
    if (fault) throw fault
    if (pause && waitMs(pause, deps.now()) > 0) {
      await rounds.stayAwake()
      continue
    }
    // The server tells of INBOX alone, and a busy one would keep us from all else.
    const isAllDue = performance.now() - allAt >= part.tempo.watchdog
    const isTold = pause === undefined && rings.has('news')
    pause = isTold ? await rounds.here() : undefined
    if (!pause && (!isTold || rings.size > 1 || isAllDue)) {
      pause = await rounds.moved()
      allAt = performance.now()
    }
  }
}

function restMs({ tempo, random, looking }: Watch, pause: Pause | undefined): number {
  const watchdog = tempo.watchdog * (0.8 + 0.4 * random())
  return pause ? Math.min(watchdog, waitMs(pause, looking.deps.now())) : watchdog
}

// No pause is longer. One that seems to be was agreed on before the clock was set back.
const LONGEST_PAUSE = 25 * 60 * 60_000

function waitMs({ until }: Pause, now: Date): number {
  const ms = until.getTime() - now.getTime()
  return ms > 0 && ms <= LONGEST_PAUSE ? ms : 0
}

/** Why somebody should look up. */
type Ring = 'news' | 'asked' | 'end'

export interface WakeSignal {
  ring(why: Ring): void
  /** Resolves at once when it rang since the last time, else when it rings or the time is over; with what was rung. */
  heard(withinMs: number): Promise<ReadonlySet<Ring>>
}

export function openWakeSignal(): WakeSignal {
  let rung = new Set<Ring>()
  let wake = () => {}
  return {
    ring(why) {
      rung.add(why)
      wake()
    },
    async heard(withinMs) {
      if (rung.size === 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, withinMs)
        wake = resolve
        await promise
        clearTimeout(timer)
      }
      const heard = rung
      rung = new Set()
      return heard
    },
  }
}

/** Rings at once, and after that at most once in each `restMs`, however often it is called. */
export function throttle(ring: () => void, restMs: number): { call(): void; stop(): void } {
  let resting: NodeJS.Timeout | undefined
  let again = false
  function rest(): void {
    ring()
    again = false
    resting = setTimeout(() => {
      resting = undefined
      if (again) rest()
    }, restMs)
    // Nothing is lost when the program ends meanwhile.
    resting.unref()
  }
  return {
    call() {
      if (resting) again = true
      else rest()
    },
    stop: () => clearTimeout(resting),
  }
}
