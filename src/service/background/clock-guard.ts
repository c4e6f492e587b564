import { type ClockSample, type ClockState, followClock } from '../../core/clock-jump.ts'
import type { Log } from '../../core/log.ts'

export interface ClockGuard {
  /** Reads the clocks: false while what is over by the wall clock must not be deleted. */
  isTrusted(): boolean
  /** For the operator; undefined while the clock is trusted. */
  warning(): string | undefined
}

/** Follows the clocks for as long as the process runs. What happened while it did not run, it cannot know. */
export function guardClock(
  readClocks: () => ClockSample,
  log: Pick<Log, 'warn' | 'info'>,
): ClockGuard {
  let state: ClockState = followClock(undefined, readClocks())

  return {
    isTrusted() {
      const former = state.jumpedMs
      state = followClock(state, readClocks())
      const { jumpedMs } = state
      if (jumpedMs !== undefined && jumpedMs !== former) {
        const facts = { minutes: toMinutes(jumpedMs) }
        log.warn(facts, 'system clock jumped ahead: expired mail is kept until it runs steadily')
      }
      if (jumpedMs === undefined && former !== undefined) {
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
