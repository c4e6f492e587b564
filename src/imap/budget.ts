import type { AccountLimits } from './options.ts'

/** Fetching is suspended until then. */
export interface Pause {
  until: Date
  reason: string
}

export type Budget = ReturnType<typeof openBudget>

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** What may still be fetched from an account without exceeding its limits. In memory: a restart begins with empty windows. */
export function openBudget({ bytesPerDay, messagesPerMinute }: AccountLimits) {
  const messages = slidingWindow(MINUTE, 12)
  const bytes = slidingWindow(DAY, 48)
  const megabytes = Math.round(bytesPerDay / 1_000_000)

  /** A pause if a mail of this size would exceed the limit now. */
  function byteLimit(size: number, now: Date): Pause | undefined {
    const spent = bytes.sum(now)
    // Otherwise a mail larger than the whole budget would wait forever.
    if (spent === 0 || spent + size <= bytesPerDay) return undefined
    return { until: bytes.freesUpAt(now), reason: `daily limit of ${megabytes} MB reached` }
  }

  return {
    /** How many messages may be examined now, at least one; or a pause. */
    messageAllowance(now: Date): number | Pause {
      const room = messagesPerMinute - messages.sum(now)
      if (room > 0) return byteLimit(0, now) ?? room
      const reason = `limit of ${messagesPerMinute} messages per minute reached`
      return { until: messages.freesUpAt(now), reason }
    },
    byteLimit,
    spend(cost: { messages?: number; bytes?: number }, now: Date): void {
      messages.add(cost.messages ?? 0, now)
      bytes.add(cost.bytes ?? 0, now)
    },
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
