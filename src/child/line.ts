import { Problem } from '../core/problem.ts'

export interface LineLimits {
  maxWaiting: number
  maxWaitingBytes: number
}

interface Entry {
  /** Of what waits, while it waits. */
  bytes: number
}

/** What waits for its turn, in order, within bounds. */
export function openLine<T extends Entry>({ maxWaiting, maxWaitingBytes }: LineLimits) {
  let waiting: T[] = []
  let bytes = 0

  function push(entry: T): void {
    waiting.push(entry)
    bytes += entry.bytes
  }

  function takeWhere(wanted: (entry: T) => boolean): T[] {
    const taken = waiting.filter(wanted)
    waiting = waiting.filter((entry) => !wanted(entry))
    for (const entry of taken) bytes -= entry.bytes
    return taken
  }

  return {
    /** Refuses what is more than may wait. */
    join(entry: T): void {
      if (waiting.length >= maxWaiting || bytes + entry.bytes > maxWaitingBytes) {
        throw new Problem('overloaded', 'Too many mails are waiting to be read.', 1)
      }
      push(entry)
    },
    /** What has been let in elsewhere is not refused here. */
    push,
    shift(): T | undefined {
      const first = waiting.shift()
      bytes -= first?.bytes ?? 0
      return first
    },
    takeWhere,
  }
}
