// The system's wall clock can be set to any time; its monotonic clock cannot. What is deleted because its time is over must
// not depend on a wall clock that has just jumped ahead.

/** Both clocks of a machine, read at the same moment. */
export interface ClockSample {
  wallMs: number
  monotonicMs: number
}

export interface ClockState {
  /** Wall minus monotonic, as it was at `sinceMs`. */
  offsetMs: number
  /** Monotonic time since which both clocks advance in step. */
  sinceMs: number
  /** By how much the wall clock jumped ahead; undefined if it is trusted. */
  jumpedMs: number | undefined
}

const MAX_SKEW_MS = 5 * 60_000
const STEADY_MS = 3_600_000

/** State after one more sample. The first sample of a process is trusted: there is nothing to compare it with. */
export function followClock(former: ClockState | undefined, sample: ClockSample): ClockState {
  const sinceMs = sample.monotonicMs
  const offsetMs = sample.wallMs - sample.monotonicMs
  if (!former) return { offsetMs, sinceMs, jumpedMs: undefined }
  const skewMs = offsetMs - former.offsetMs
  if (skewMs > MAX_SKEW_MS) return { offsetMs, sinceMs, jumpedMs: skewMs }
  // A step back deletes nothing too early. While the clock is not trusted, though, it is no steady advance either.
  if (skewMs < -MAX_SKEW_MS) return { offsetMs, sinceMs, jumpedMs: former.jumpedMs }
  // Starts over each hour: a clock that is adjusted slowly adds up to minutes only after weeks.
  if (sinceMs - former.sinceMs >= STEADY_MS) return { offsetMs, sinceMs, jumpedMs: undefined }
  return former
}
