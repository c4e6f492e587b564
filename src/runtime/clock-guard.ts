import type { Log } from '../base/log/log.ts'

// The wall clock can be set to any time; the monotonic clock cannot. Deleting expired data must not depend on a wall clock that
// has just jumped ahead.

/** Both clocks, read at the same moment. */
export interface ClockSample {
  wallMs: number
  monotonicMs: number
}

export interface ClockState {
  /** Wall minus monotonic time, at `sinceMs`. */
  offsetMs: number
  /** Monotonic time since which both clocks have advanced in step. */
  sinceMs: number
  /** By how much the wall clock jumped ahead; undefined if it is trusted. */
  jumpedMs: number | undefined
}

const MAX_SKEW_MS = 5 * 60_000
const STEADY_MS = 3_600_000

/** State after one more sample. The first sample of a process is trusted: there is nothing to compare it with. */
export function nextClockState(previous: ClockState | undefined, sample: ClockSample): ClockState {
  const sinceMs = sample.monotonicMs
  const offsetMs = sample.wallMs - sample.monotonicMs
  if (!previous) return { offsetMs, sinceMs, jumpedMs: undefined }
  const skewMs = offsetMs - previous.offsetMs
  if (skewMs > MAX_SKEW_MS) return { offsetMs, sinceMs, jumpedMs: skewMs }
  // A step back deletes nothing too early, but it is not steady either: an untrusted clock stays untrusted.
  if (skewMs < -MAX_SKEW_MS) return { offsetMs, sinceMs, jumpedMs: previous.jumpedMs }
  // Restarts every hour, so that slow adjustments do not add up to a jump.
  if (sinceMs - previous.sinceMs >= STEADY_MS) return { offsetMs, sinceMs, jumpedMs: undefined }
  return previous
}

export interface ClockGuard {
  /** Reads the clocks; false while expired data must not be deleted. */
  isTrusted(): boolean
  /** For the operator; undefined while the clock is trusted. */
  warning(): string | undefined
}

/** Watches the clocks while the process runs. It cannot detect jumps before that. */
export function guardClock(
  readClocks: () => ClockSample,
  log: Pick<Log, 'warn' | 'info'>,
): ClockGuard {
  let state: ClockState = nextClockState(undefined, readClocks())

  return {
    isTrusted() {
      const previous = state.jumpedMs
      state = nextClockState(state, readClocks())
      const { jumpedMs } = state
      if (jumpedMs !== undefined && jumpedMs !== previous) {
        const facts = { minutes: toMinutes(jumpedMs) }
        log.warn(facts, 'system clock jumped ahead: expired mail is kept until it runs steadily')
      }
      if (jumpedMs === undefined && previous !== undefined) {
        log.info({}, 'system clock ran steadily for an hour: expired mail is deleted again')
      }
      return jumpedMs === undefined
    },
    warning() {
      if (state.jumpedMs === undefined) return undefined
      return `The system clock jumped ahead by ${toMinutes(state.jumpedMs)} minutes. Expired mail is not deleted until the clock has run steadily for an hour.`
    },
  }
}

function toMinutes(ms: number): number {
  return Math.round(ms / 60_000)
}
