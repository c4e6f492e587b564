import type { Log } from '../core/log.ts'
import type { Message, SenderChecks } from '../core/message.ts'
import { Problem } from '../core/problem.ts'
import { isFinal, type SenderFacts } from '../core/sender.ts'
import type { MailStore } from '../store/store.ts'
import { logFault } from './log-fault.ts'

export interface SenderChecksNeeds {
  store: Pick<MailStore, 'readRaw' | 'readSenderChecks' | 'keepSenderChecks'>
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
}

// What the DNS did not answer a moment ago it will hardly answer now.
const AGAIN_MS = 60_000
const MAX_REMEMBERED = 1_000

/**
 * Reads the kept sender checks of a message, or makes them and keeps them when they are final. However many ask at once, they are
 * made once.
 */
export function senderChecksOnce({ store, check, now, log }: SenderChecksNeeds): SenderChecked {
  const underWay = new Map<number, Promise<SenderChecks | undefined>>()
  const remembered = new Map<number, Remembered>()

  async function find(
    { rawId, senderEmail }: Message,
    haste?: 'later',
  ): Promise<SenderChecks | undefined> {
    const kept = await store.readSenderChecks(rawId)
    if (kept) return kept
    const raw = await store.readRaw(rawId)
    if (!raw) return undefined
    const { clientIp, helo, mailFrom, receivedAt, bytes } = raw
    // Mail that was fetched: how it came to the account we do not know, and never will.
    if (clientIp === '') return remember(rawId, undefined)
    const sent = { clientIp, helo, mailFrom, receivedAt }
    const checks = await check({ ...sent, raw: bytes, shown: senderEmail }, haste)
    if (!checks) return undefined
    if (!isFinal(checks)) return remember(rawId, checks)
    await keep(rawId, checks)
    return checks
  }

  function remember(rawId: number, checks: SenderChecks | undefined): SenderChecks | undefined {
    remembered.delete(rawId)
    remembered.set(rawId, { checks, until: now().getTime() + AGAIN_MS })
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
    if (known && known.until > now().getTime()) return known.checks
    return await (underWay.get(message.rawId) ?? start(message, haste))
  }
}
