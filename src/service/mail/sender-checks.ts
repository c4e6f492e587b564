import type { Log } from '../../core/log.ts'
import {
  isConclusive,
  type Message,
  type SenderCheckInput,
  type SenderChecks,
} from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import type { MailStore } from '../../store/store.ts'
import { logFault } from '../background/outage.ts'
import type { LargeReads } from './large-reads.ts'

export interface SenderChecksDeps {
  store: Pick<MailStore, 'readRaw' | 'readSenderChecks' | 'saveSenderChecks'>
  largeReads: LargeReads
  /** Undefined: not now. */
  check(facts: SenderCheckInput, haste?: 'later'): Promise<SenderChecks | undefined>
  now(): Date
  log: Pick<Log, 'error'>
}

/**
 * The sender checks of a message; undefined when they are switched off or could not be made. Never rejects: a mail can be read
 * without. `later`: nobody waits for them yet.
 */
export type CheckSender = (message: Message, haste?: 'later') => Promise<SenderChecks | undefined>

/** What was found out and is not for ever. */
interface CachedChecks {
  checks: SenderChecks | undefined
  /** Milliseconds. */
  until: number
  /** True if only requests that nobody waits for were refused. */
  isForLater: boolean
}

// What the DNS did not answer a moment ago it will hardly answer now.
const RETRY_MS = 60_000
// For whoever asks again at once there is hardly more room.
const BUSY_RETRY_MS = 5_000
// As many as the checker takes on: a mail for which it has no room is not read.
const MAX_PENDING = 100
const MAX_PENDING_BACKGROUND = 20
const MAX_CACHED = 1_000

/**
 * Reads the kept sender checks of a message, or makes them and keeps them when they are final. However many ask at once, they are
 * made once.
 */
export function openSenderChecks({
  store,
  largeReads,
  check,
  now,
  log,
}: SenderChecksDeps): CheckSender {
  const pending = new Map<number, Promise<SenderChecks | undefined>>()
  const cache = new Map<number, CachedChecks>()

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
    if (!checks)
      return remember(rawId, { checks, ms: BUSY_RETRY_MS, isForLater: haste === 'later' })
    if (!isConclusive(checks)) return remember(rawId, { checks })
    await keep(rawId, checks)
    return checks
  }

  function remember(
    rawId: number,
    { checks, ms = RETRY_MS, isForLater = false }: Partial<CachedChecks> & { ms?: number },
  ): SenderChecks | undefined {
    cache.delete(rawId)
    cache.set(rawId, { checks, until: now().getTime() + ms, isForLater })
    for (const oldest of cache.keys()) {
      if (cache.size <= MAX_CACHED) break
      cache.delete(oldest)
    }
    return checks
  }

  // A full disk keeps nobody from reading: the next reader then asks again.
  async function keep(rawId: number, checks: SenderChecks): Promise<void> {
    try {
      await store.saveSenderChecks(rawId, checks)
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
      .finally(() => pending.delete(rawId))
    pending.set(rawId, found)
    return await found
  }

  return async (message, haste) => {
    const known = cache.get(message.rawId)
    const counts = known && (haste === 'later' || !known.isForLater)
    if (counts && known.until > now().getTime()) return known.checks
    const most = haste === 'later' ? MAX_PENDING_BACKGROUND : MAX_PENDING
    const same = pending.get(message.rawId)
    if (!same && pending.size >= most) return undefined
    return await (same ?? start(message, haste))
  }
}
