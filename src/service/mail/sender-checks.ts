import type { Log } from '../../core/log.ts'
import { isFinal, type Message, type SenderChecks, type SenderFacts } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import type { MailStore } from '../../store/store.ts'
import { logFault } from '../background/outage.ts'
import type { LargeReads } from './large-reads.ts'

export interface SenderChecksDeps {
  store: Pick<MailStore, 'readRaw' | 'readSenderChecks' | 'keepSenderChecks'>
  largeReads: LargeReads
  /** Undefined: not now. */
  check(facts: SenderFacts, haste?: 'later'): Promise<SenderChecks | undefined>
  now(): Date
  log: Pick<Log, 'error'>
}

/**
 * The sender checks of a message; undefined when they are switched off or could not be made. Never rejects: a mail can be read
 * without. `later`: nobody waits for them yet.
 */
export type SenderChecked = (message: Message, haste?: 'later') => Promise<SenderChecks | undefined>

/** What was found out and is not for ever. */
interface Remembered {
  checks: SenderChecks | undefined
  /** Milliseconds. */
  until: number
  /** True if only requests that nobody waits for were refused. */
  isForLater: boolean
}

// What the DNS did not answer a moment ago it will hardly answer now.
const AGAIN_MS = 60_000
// For whoever asks again at once there is hardly more room.
const NO_ROOM_MS = 5_000
// As many as the checker takes on: a mail for which it has no room is not read.
const MAX_UNDER_WAY = 100
const MAX_LATER = 20
const MAX_REMEMBERED = 1_000

/**
 * Reads the kept sender checks of a message, or makes them and keeps them when they are final. However many ask at once, they are
 * made once.
 */
export function senderChecksOnce({
  store,
  largeReads,
  check,
  now,
  log,
}: SenderChecksDeps): SenderChecked {
  const underWay = new Map<number, Promise<SenderChecks | undefined>>()
  const remembered = new Map<number, Remembered>()

  async function find(
    { rawId, senderEmail, recipient: mailbox, size }: Message,
    haste?: 'later',
  ): Promise<SenderChecks | undefined> {
    const kept = await store.readSenderChecks(rawId)
    if (kept) return kept
    const request = { client: undefined, mailbox, size, background: true }
    const raw = await largeReads.run(`raw ${rawId}`, request, () => store.readRaw(rawId))
    if (!raw) return undefined
    const { clientIp, helo, mailFrom, receivedAt, bytes } = raw
    // Mail that was fetched: how it came to the account we do not know, and never will.
    if (clientIp === '') return remember(rawId, { checks: undefined })
    const sent = { clientIp, helo, mailFrom, receivedAt }
    const checks = await check({ ...sent, raw: bytes, shown: senderEmail }, haste)
    if (!checks) return remember(rawId, { checks, ms: NO_ROOM_MS, isForLater: haste === 'later' })
    if (!isFinal(checks)) return remember(rawId, { checks })
    await keep(rawId, checks)
    return checks
  }

  function remember(
    rawId: number,
    { checks, ms = AGAIN_MS, isForLater = false }: Partial<Remembered> & { ms?: number },
  ): SenderChecks | undefined {
    remembered.delete(rawId)
    remembered.set(rawId, { checks, until: now().getTime() + ms, isForLater })
    for (const oldest of remembered.keys()) {
      if (remembered.size <= MAX_REMEMBERED) break
      remembered.delete(oldest)
    }
    return checks
  }

  // A full disk keeps nobody from reading: the next reader then asks again.
  async function keep(rawId: number, checks: SenderChecks): Promise<void> {
    try {
      await store.keepSenderChecks(rawId, checks)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
    }
  }

  async function start(message: Message, haste?: 'later'): Promise<SenderChecks | undefined> {
    const { rawId } = message
    const found = find(message, haste)
      .catch((error: unknown) => {
        logFault(log, error, 'the sender of a mail could not be checked')
        return undefined
      })
      .finally(() => underWay.delete(rawId))
    underWay.set(rawId, found)
    return await found
  }

  return async (message, haste) => {
    const known = remembered.get(message.rawId)
    const counts = known && (haste === 'later' || !known.isForLater)
    if (counts && known.until > now().getTime()) return known.checks
    const most = haste === 'later' ? MAX_LATER : MAX_UNDER_WAY
    const same = underWay.get(message.rawId)
    if (!same && underWay.size >= most) return undefined
    return await (same ?? start(message, haste))
  }
}
