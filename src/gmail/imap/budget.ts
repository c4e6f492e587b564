import type { AccountLimits } from './options.ts'

/** Fetching is suspended until then. */
export interface Pause {
  until: Date
  reason: string
}

export type Budget = ReturnType<typeof openBudget>

const DAY = 24 * 60 * 60_000

/**
 * How many bytes may still be fetched from an account. In memory: a restart begins with an empty window.
 * Messages are not limited: an account receives at most 60 a minute, so that a limit would only delay mail after an outage.
 */
export function openBudget({ bytesPerDay }: Pick<AccountLimits, 'bytesPerDay'>) {
  const bytes = slidingWindow(DAY, 48)
  const megabytes = Math.round(bytesPerDay / 1_000_000)
  return {
    /** A pause if fetching this many bytes would exceed the limit now. */
    pauseFor(size: number, now: Date): Pause | undefined {
      const spent = bytes.sum(now)
      // Otherwise a mail larger than the whole budget would wait forever.
      if (spent === 0 || spent + size <= bytesPerDay) return undefined
      return { until: bytes.freesUpAt(now), reason: `daily limit of ${megabytes} MB reached` }
    },
    spend: (size: number, now: Date) => bytes.add(size, now),
  }
}

/** Counts events of the last `ms`, with a resolution of `ms / parts`. */
function slidingWindow(ms: number, parts: number) {
  const width = ms / parts
  let slots: { at: number; count: number }[] = []

  function recent(now: Date): typeof slots {
    const time = now.getTime()
    // If the clock is set back, old counts must not stay forever.
    slots = slots.filter(({ at }) => at > time - ms - width && at <= time + width)
    return slots
  }

  return {
    add(count: number, now: Date) {
      if (count === 0) return
      const at = Math.floor(now.getTime() / width) * width
      const slot = recent(now).find((one) => one.at === at)
      if (slot) slot.count += count
      else slots.push({ at, count })
    },
    sum: (now: Date) => recent(now).reduce((sum, { count }) => sum + count, 0),
    /** When the oldest slot leaves the window. */
    freesUpAt(now: Date): Date {
      const oldest = Math.min(now.getTime(), ...recent(now).map(({ at }) => at))
      return new Date(oldest + ms + width)
    },
  }
}
