import type { AccountLimits } from './options.ts'

/** Why nothing may be asked of the server for a while. */
export interface Pause {
  until: Date
  reason: string
}

/** What an account may still cost its server. */
export interface Budget {
  /** How many messages may be looked at now, at least one; or a pause. */
  messages(now: Date): number | Pause
  /** A pause when a mail of this size would be too much now. */
  bytes(size: number, now: Date): Pause | undefined
  spend(cost: { messages?: number; bytes?: number }, now: Date): void
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** Sliding windows, kept in memory: a restart begins with empty ones. */
export function openBudget({ bytesPerDay, messagesPerMinute }: AccountLimits): Budget {
  const messages = slidingWindow(MINUTE, 12)
  const bytes = slidingWindow(DAY, 48)
  const megabytes = Math.round(bytesPerDay / 1_000_000)

  function byteRoom(size: number, now: Date): Pause | undefined {
    const spent = bytes.sum(now)
    // A mail larger than the whole budget would otherwise wait for ever.
    if (spent === 0 || spent + size <= bytesPerDay) return undefined
    return { until: bytes.relief(now), reason: `near its limit of ${megabytes} MB a day` }
  }

  return {
    messages(now) {
      const room = messagesPerMinute - messages.sum(now)
      if (room > 0) return byteRoom(0, now) ?? room
      const reason = `near its limit of ${messagesPerMinute} messages a minute`
      return { until: messages.relief(now), reason }
    },
    bytes: byteRoom,
    spend(cost, now) {
      messages.add(cost.messages ?? 0, now)
      bytes.add(cost.bytes ?? 0, now)
    },
  }
}

/** Counts what happened within the last `ms`, to a part of it. */
function slidingWindow(ms: number, parts: number) {
  const width = ms / parts
  let slots: { at: number; count: number }[] = []

  function recent(now: Date): typeof slots {
    const time = now.getTime()
    // A clock that was set back must not keep old counts for ever.
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
    /** When the oldest part falls out. */
    relief(now: Date): Date {
      const oldest = Math.min(now.getTime(), ...recent(now).map(({ at }) => at))
      return new Date(oldest + ms + width)
    },
  }
}
