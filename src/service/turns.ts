import { Problem } from '../core/problem.ts'
import type { MailboxId } from '../core/session.ts'

interface Turns<T> {
  /** The outcome for this message; undefined: too many wait. However many ask, it is done once. */
  add(mailbox: MailboxId, id: number): Promise<T | undefined> | undefined
  /** Whoever waits for an outcome gets none. */
  close(): void
}

export interface TurnLimits {
  /** So many are under way in all, and of one mailbox. */
  atOnce: number
  perMailbox: number
  /** So many wait at most. */
  waiting: number
  /** After a refusal nothing is begun for so long; when the next is refused too, for twice as long. */
  restMs: number
  longestRestMs: number
}

interface TurnsOptions<T> {
  deed(mailbox: MailboxId, id: number): Promise<T>
  /** Hears of what is no refusal; such a message is given up, and has no outcome. */
  failed(error: unknown): void
  limits: TurnLimits
}

interface Box<T> {
  /** The newest last: it is the next. */
  todo: number[]
  underWay: number
  outcomes: Map<number, PromiseWithResolvers<T | undefined>>
}

/**
 * Does the deed for messages that nobody may be waiting for: a few at once, the mailboxes in turn, of each the newest first. So
 * a mailbox with a thousand costly mails delays the others by its share and no more. What is refused is tried again later.
 */
export function openTurns<T>({ deed, failed, limits }: TurnsOptions<T>): Turns<T> {
  const boxes = new Map<MailboxId, Box<T>>()
  let [waiting, underWay] = [0, 0]
  let closed = false
  const rest = resting(limits, next)

  function next(): void {
    while (underWay < (rest.isDoubtful() ? 1 : limits.atOnce) && !rest.isOn()) {
      const turn = whoseTurn(boxes, limits.perMailbox)
      const id = turn?.[1].todo.pop()
      if (!turn || id === undefined) return
      const [mailbox, box] = turn
      boxes.delete(mailbox)
      boxes.set(mailbox, box)
      waiting -= 1
      void run(mailbox, box, id)
    }
  }

  async function run(mailbox: MailboxId, box: Box<T>, id: number): Promise<void> {
    underWay += 1
    box.underWay += 1
    try {
      settle(box, id, await deed(mailbox, id))
      rest.forget()
    } catch (error) {
      if (!closed) putOff(box, id, error)
    } finally {
      underWay -= 1
      box.underWay -= 1
      if (box.outcomes.size === 0) boxes.delete(mailbox)
      next()
    }
  }

  function putOff(box: Box<T>, id: number, error: unknown): void {
    if (error instanceof Problem) {
      waiting += 1
      box.todo.push(id)
      rest.begin()
    } else {
      failed(error)
      settle(box, id, undefined)
    }
  }

  return {
    add(mailbox, id) {
      const box = boxes.get(mailbox) ?? { todo: [], underWay: 0, outcomes: new Map() }
      const known = box.outcomes.get(id)
      if (known) return known.promise
      if (closed || waiting >= limits.waiting) return undefined
      const outcome = Promise.withResolvers<T | undefined>()
      box.outcomes.set(id, outcome)
      boxes.set(mailbox, box)
      box.todo.splice(box.todo.findLastIndex((other) => other < id) + 1, 0, id)
      waiting += 1
      next()
      return outcome.promise
    },
    close() {
      closed = true
      rest.end()
      for (const box of boxes.values()) {
        for (const id of box.outcomes.keys()) settle(box, id, undefined)
      }
      boxes.clear()
    },
  }
}

/** Only the few boxes with something under way are passed by. */
function whoseTurn<T>(
  boxes: ReadonlyMap<MailboxId, Box<T>>,
  perMailbox: number,
): [MailboxId, Box<T>] | undefined {
  for (const entry of boxes) {
    const [, { todo, underWay }] = entry
    if (todo.length > 0 && underWay < perMailbox) return entry
  }
  return undefined
}

function settle<T>({ outcomes }: Box<T>, id: number, outcome: T | undefined): void {
  outcomes.get(id)?.resolve(outcome)
  outcomes.delete(id)
}

/** A pause after a refusal, and a longer one when what is tried next is refused as well. */
function resting({ restMs, longestRestMs }: TurnLimits, over: () => void) {
  let nextMs = restMs
  let timer: NodeJS.Timeout | undefined
  return {
    isOn: () => timer !== undefined,
    /** Until the next success: one that is refused is enough. */
    isDoubtful: () => nextMs !== restMs,
    begin(): void {
      // Of several that are refused at once, the first says it for all.
      if (timer !== undefined) return
      timer = setTimeout(() => {
        timer = undefined
        over()
      }, nextMs)
      nextMs = Math.min(2 * nextMs, longestRestMs)
    },
    forget(): void {
      nextMs = restMs
    },
    end: () => clearTimeout(timer),
  }
}
