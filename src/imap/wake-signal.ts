/** Why somebody should look up. */
export type Ring = 'news' | 'asked' | 'end'

export interface Bell {
  ring(why: Ring): void
  /** Resolves at once when it rang since the last time, else when it rings or the time is over; with what was rung. */
  heard(withinMs: number): Promise<ReadonlySet<Ring>>
}

export function openBell(): Bell {
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
export function seldom(ring: () => void, restMs: number): { call(): void; stop(): void } {
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
