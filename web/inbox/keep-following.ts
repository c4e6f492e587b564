import { effect } from '@preact/signals'
import { isOver, type Mailbox } from '../address/mailbox.ts'
import { current, ended } from '../address/mailboxes.ts'
import { follow } from './follow.ts'
import { lookNow } from './hear.ts'
import { heardAgoMs } from './listen.ts'
import { hearing, mail } from './mail.ts'

// A beat comes every 15 s: without one for longer, who comes back to the page wants to know.
const DOUBTFUL_MS = 20_000

/** Follows the mailbox that is on the page, and another when that changes; also one that was over and came back. */
export function keepFollowing(): void {
  let stop: AbortController | undefined
  let token: string | undefined

  effect(() => {
    const mailbox = current.value
    const revived = isEnded() && mailbox !== undefined && !isOver(mailbox, Date.now())
    if (mailbox?.token === token && !revived) return
    stop?.abort()
    token = mailbox?.token
    mail.clear()
    if (!mailbox) return
    stop = new AbortController()
    void followToEnd(mailbox, stop.signal)
  })

  addEventListener('online', look)
  // It may be that only the wider net is away, and the server is here.
  addEventListener('offline', look)
  document.addEventListener('visibilitychange', () => {
    const doubtful = hearing.peek().kind !== 'live' || heardAgoMs() > DOUBTFUL_MS
    if (document.visibilityState === 'visible' && doubtful) look()
  })
}

function look(): void {
  lookNow().catch(() => undefined)
}

function isEnded(): boolean {
  return hearing.peek().kind === 'ended'
}

async function followToEnd(mailbox: Mailbox, signal: AbortSignal): Promise<void> {
  try {
    await follow(mailbox, signal)
  } catch (fault) {
    if (signal.aborted) return
    throw fault
  }
  if (signal.aborted) return
  mail.clear()
  hearing.value = { kind: 'ended' }
  ended(mailbox)
}
