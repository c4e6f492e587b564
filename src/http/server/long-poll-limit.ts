import { Problem } from '../../core/problem.ts'
import { waitingGauge } from './metrics.ts'
import type { Call } from './route.ts'

export interface LongPollLimit {
  /**
   * Counts one more open wait or stream of a mailbox, or of a key, until the returned function is called or the response is
   * closed, whichever comes first. Refuses when there are too many, and a client that has gone already.
   */
  enter(
    mailbox: number | string,
    call: Pick<Call, 'client' | 'throwIfClosed' | 'onClose'>,
  ): () => void
}

const MOST = { all: 10_000, client: 1_000, mailbox: 100 }

/** Each open wait holds a socket and timers: no one mailbox and no one address may hold them all. */
export function openLongPollLimit(most = MOST): LongPollLimit {
  const held = new Map<string, number>()
  let all = 0

  function add(key: string, step: 1 | -1): void {
    const count = (held.get(key) ?? 0) + step
    if (count === 0) held.delete(key)
    else held.set(key, count)
  }

  return {
    enter(mailbox, { client, throwIfClosed, onClose }) {
      throwIfClosed()
      const box = `box ${mailbox}`
      const who = client === undefined ? undefined : `client ${client}`
      const tooMany =
        all >= most.all ||
        (held.get(box) ?? 0) >= most.mailbox ||
        (who !== undefined && (held.get(who) ?? 0) >= most.client)
      if (tooMany) throw new Problem('overloaded', 'Too many requests wait already.', 5)
      const keys = who === undefined ? [box] : [box, who]
      all += 1
      waitingGauge.inc()
      for (const key of keys) add(key, 1)
      let open = true
      const leave = () => {
        if (!open) return
        open = false
        all -= 1
        waitingGauge.dec()
        for (const key of keys) add(key, -1)
      }
      onClose(leave)
      return leave
    },
  }
}
