import type { Bus } from '../bus/bus.ts'
import type { MailboxId } from '../core/session.ts'

interface Watch {
  /** Resolves when there may be news since the last call; throws the signal's reason once that is aborted. */
  news(): Promise<void>
  /** Makes the current or next `news` resolve. */
  poke(): void
  end(): void
}

interface Watching {
  /** Or topics, see core/session.ts. */
  mailboxes: readonly MailboxId[]
  signal: AbortSignal
  /** The bus only hastens: whoever waits looks by himself so often, so that a lost wake strands nobody. */
  lookMs: number
}

/**
 * Looks until that gives something. `over` is true for the last look, which is made when the time is up and must give
 * something.
 */
export async function lookUntil<T>(
  bus: Pick<Bus, 'subscribe'>,
  { seconds, ...watching }: Watching & { seconds: number },
  look: (over: boolean) => Promise<T | undefined>,
): Promise<T> {
  const watch = watchMailbox(bus, watching)
  let over = false
  const timer = setTimeout(() => {
    over = true
    watch.poke()
  }, seconds * 1000)

  try {
    for (;;) {
      const found = await look(over)
      if (found !== undefined) return found
      await watch.news()
    }
  } finally {
    clearTimeout(timer)
    watch.end()
  }
}

/** Notes every change of one of the mailboxes from now on. Watch, then read, then wait for news: nothing falls in between. */
export function watchMailbox(
  bus: Pick<Bus, 'subscribe'>,
  { mailboxes, signal, lookMs }: Watching,
): Watch {
  let pending = false
  let wake: (() => void) | undefined

  const poke = () => {
    pending = true
    wake?.()
  }
  const subscriptions = mailboxes.map((mailbox) => bus.subscribe(mailbox, poke))
  const looking = setInterval(poke, lookMs)
  signal.addEventListener('abort', poke)

  return {
    poke,
    async news() {
      if (!pending && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      pending = false
      wake = undefined
      signal.throwIfAborted()
    },
    end() {
      for (const unsubscribe of subscriptions) unsubscribe()
      clearInterval(looking)
      signal.removeEventListener('abort', poke)
    },
  }
}
