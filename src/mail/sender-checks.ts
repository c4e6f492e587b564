import { logFault } from '../base/jobs/outage.ts'
import type { Log } from '../base/log/log.ts'
import { openLru } from '../base/lru.ts'
import { Problem } from '../base/problem.ts'
import { isConclusive, type SenderCheckInput, type SenderChecks } from '../shared/mail.ts'
import type { LargeReads } from './read/large-reads.ts'
import type { Message } from './rules/message.ts'
import type { MailStore } from './store.ts'

export interface SenderChecksDeps {
  store: Pick<MailStore, 'readRaw' | 'readSenderChecks' | 'saveSenderChecks'>
  /** Undefined if the checker is busy. */
  check(input: SenderCheckInput, priority?: 'background'): Promise<SenderChecks | undefined>
  largeReads: LargeReads
  log: Pick<Log, 'error'>
  now(): Date
}

/**
 * The sender checks of a message; undefined if they are disabled or not available. Never rejects: a mail can be read without
 * them. `background`: nobody waits for them yet.
 */
export type CheckSender = (
  message: Message,
  priority?: 'background',
) => Promise<SenderChecks | undefined>

/** A result that is not final, and not stored. */
interface CachedChecks {
  checks: SenderChecks | undefined
  /** Milliseconds. */
  until: number
  /** True if the checker was too busy for background requests only. */
  isBackground: boolean
}

// A DNS server that just failed will hardly respond now.
const RETRY_MS = 60_000
// The checker is probably still busy.
const BUSY_RETRY_MS = 5_000
// As many as the checker accepts: mail that it would refuse is not read.
const MAX_PENDING = 100
const MAX_PENDING_BACKGROUND = 20
const MAX_CACHED = 1_000

/**
 * Reads the stored sender checks of a message, or runs them and stores conclusive results. Concurrent requests share one run.
 */
export function openSenderChecks({
  store,
  largeReads,
  check,
  now,
  log,
}: SenderChecksDeps): CheckSender {
  const pending = new Map<number, Promise<SenderChecks | undefined>>()
  const cache = openLru<number, CachedChecks>(MAX_CACHED)

  async function find(
    { rawId, senderEmail, recipient: mailbox, size }: Message,
    priority?: 'background',
  ): Promise<SenderChecks | undefined> {
    const stored = await store.readSenderChecks(rawId)
    if (stored) return stored
    const request = { client: undefined, mailbox, size, background: true }
    const raw = await largeReads.run(`raw ${rawId}`, request, () => store.readRaw(rawId))
    if (!raw) return undefined
    const { clientIp, helo, mailFrom, receivedAt, bytes } = raw
    // Fetched mail: the delivering client is unknown.
    if (clientIp === '') return cacheResult(rawId, { checks: undefined })
    const sent = { clientIp, helo, mailFrom, receivedAt }
    const checks = await check({ ...sent, raw: bytes, shown: senderEmail }, priority)
    if (!checks)
      return cacheResult(rawId, {
        checks,
        ms: BUSY_RETRY_MS,
        isBackground: priority === 'background',
      })
    if (!isConclusive(checks)) return cacheResult(rawId, { checks })
    await keep(rawId, checks)
    return checks
  }

  function cacheResult(
    rawId: number,
    { checks, ms = RETRY_MS, isBackground = false }: Partial<CachedChecks> & { ms?: number },
  ): SenderChecks | undefined {
    cache.set(rawId, { checks, until: now().getTime() + ms, isBackground })
    return checks
  }

  // A full disk must not prevent reading: the next request checks again.
  async function keep(rawId: number, checks: SenderChecks): Promise<void> {
    try {
      await store.saveSenderChecks(rawId, checks)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
    }
  }

  async function start(
    message: Message,
    priority?: 'background',
  ): Promise<SenderChecks | undefined> {
    const { rawId } = message
    const found = find(message, priority)
      .catch((error: unknown) => {
        logFault(log, error, 'sender check failed')
        return undefined
      })
      .finally(() => pending.delete(rawId))
    pending.set(rawId, found)
    return await found
  }

  return async (message, priority) => {
    const known = cache.get(message.rawId)
    const counts = known && (priority === 'background' || !known.isBackground)
    if (counts && known.until > now().getTime()) return known.checks
    const max = priority === 'background' ? MAX_PENDING_BACKGROUND : MAX_PENDING
    const same = pending.get(message.rawId)
    if (!same && pending.size >= max) return undefined
    return await (same ?? start(message, priority))
  }
}
