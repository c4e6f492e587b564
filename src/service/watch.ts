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
