import type { Bell } from './wake-signal.ts'
import type { Pause } from './budget.ts'
import { listFolders, specialFolders } from './folders.ts'
import type { Looking } from './fetch-new.ts'
import type { AccountTempo } from './options.ts'
import type { Removals } from './removal.ts'
import { openRounds } from './poll-loop.ts'

export interface Watch {
  looking: Looking
  bell: Bell
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
  const { session, ended, needs } = looking
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
    if (pause && waitMs(pause, needs.now()) > 0) {
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
  return pause ? Math.min(watchdog, waitMs(pause, looking.needs.now())) : watchdog
}

// No pause is longer. One that seems to be was agreed on before the clock was set back.
const LONGEST_PAUSE = 25 * 60 * 60_000

function waitMs({ until }: Pause, now: Date): number {
  const ms = until.getTime() - now.getTime()
  return ms > 0 && ms <= LONGEST_PAUSE ? ms : 0
}
