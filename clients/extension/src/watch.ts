// When to ask for mail. Manifest V3 stops a background script that is idle for 30 seconds, so all of this is stored.

export const LONG_POLL_SECONDS = 25
const MINUTE = 60_000
/** An alarm that wakes a stopped script earlier is not possible in Chromium. */
const SHORTEST_ALARM = 30_000
const LONG_POLLS_FOR = 10 * MINUTE
const ALARMS_FOR = 60 * MINUTE
const LONGEST_DELAY = 30 * MINUTE

/** An address whose mail is waited for. */
export interface Watch {
  address: string
  since: number
  nextAt: number
  failures: number
}

/** What a request brought. The server says if it waited as long as it was asked to. */
export type Outcome =
  | { isNew: boolean; hasWaited: boolean }
  | { failed: true; retryAfterMs?: number | undefined; reason: string }

export function startWatch(address: string, now: number): Watch {
  return { address, since: now, nextAt: now, failures: 0 }
}

/** Browsers open six connections to a server. Others than those that wait need some, too. */
const MOST_WAITING = 3

/** How long the request may wait that is sent now: only those for the newest addresses. */
export function waitSeconds(watch: Watch, now: number, all: readonly Watch[] = []): number {
  const newer = all.filter(({ since }) => since > watch.since)
  if (newer.length >= MOST_WAITING) return 0
  return now - watch.since < LONG_POLLS_FOR ? LONG_POLL_SECONDS : 0
}

/** The watch after a request; undefined if it is over. */
export function afterPoll(watch: Watch, outcome: Outcome, now: number): Watch | undefined {
  if (now - watch.since >= ALARMS_FOR) return undefined
  if ('failed' in outcome) {
    const delay = Math.max(SHORTEST_ALARM * 2 ** watch.failures, outcome.retryAfterMs ?? 0)
    const nextAt = now + Math.min(LONGEST_DELAY, delay)
    return { ...watch, failures: watch.failures + 1, nextAt }
  }
  return { ...watch, failures: 0, nextAt: now + delayAfter(watch, outcome, now) }
}

function delayAfter(watch: Watch, outcome: { isNew: boolean; hasWaited: boolean }, now: number) {
  if (waitSeconds(watch, now) === 0) return MINUTE
  // A server, or a proxy before it, that does not wait must not be asked again at once.
  return outcome.isNew || outcome.hasWaited ? 0 : SHORTEST_ALARM
}

export function dueWatches(watches: readonly Watch[], now: number): Watch[] {
  return watches.filter(({ nextAt }) => nextAt <= now)
}

/** When the script must be woken, should it be stopped until then. */
export function nextAlarm(watches: readonly Watch[], now: number): number | undefined {
  if (watches.length === 0) return undefined
  return Math.max(now + SHORTEST_ALARM, Math.min(...watches.map(({ nextAt }) => nextAt)))
}
