import { setTimeout as pause } from 'node:timers/promises'
import { openScheduler, timed } from '../../base/fair-scheduler.ts'
import { logFault } from '../../base/jobs/outage.ts'
import { withTimeout } from '../../base/jobs/repeat.ts'
import type { Log } from '../../base/log/log.ts'
import { Problem } from '../../base/problem.ts'
import { type Backoff, backoffDelay } from '../../base/time.ts'
import type { Bus } from '../../bus/bus.ts'
import { isScanned, type MessageSummary, scanResult } from '../rules/message.ts'
import type { MailboxId } from '../rules/session.ts'
import type { CheckSender } from '../sender-checks.ts'
import type { MailStore } from '../store.ts'
import { ownerKeys } from './parse-once.ts'
import type { ReadParsed } from './parsed-mail.ts'

export interface CodeScanner {
  /**
   * Scans the messages that have not been scanned yet. Undefined if there are none. `client` is the rate-limit key of the client;
   * undefined if rate limits do not apply.
   */
  scan(
    mailbox: MailboxId,
    messages: readonly MessageSummary[],
    client?: string,
  ): CodeScan | undefined
  close(): void
}

interface CodeScan {
  /** False if the queue was full: a response must not be cached, or the results would never show. */
  complete: boolean
  /** Waits a short time for all of them. True if some were scanned by then: list again. */
  found(waitMs?: number): Promise<boolean>
}

interface CodeScannerDeps {
  store: MailStore
  bus: Pick<Bus, 'wake'>
  parsed: ReadParsed
  senderChecks: CheckSender
  log: Pick<Log, 'error'>
}

interface CodeScannerOptions {
  /** How long a list or an event waits for results. */
  resultWaitMs: number
  /** Only tests set it. */
  limits?: Partial<typeof LIMITS>
}

// One child parses; meanwhile the next mails are read and the last results are stored.
const LIMITS = {
  slots: 8,
  maxWaiting: 10_000,
  maxWaitingPerKey: 1_000,
  overloadMessage: 'Too many messages are waiting to be searched for codes.',
  retry: { first: 1_000, max: 30_000 },
}

/**
 * Has mail that is watched or listed parsed, stores its most likely code and its preview with the message, and wakes the
 * waiters of the mailbox. Each message is scanned once, in the background, the newest of a mailbox first.
 */
export function openCodeScanner(
  deps: CodeScannerDeps,
  { resultWaitMs, limits }: CodeScannerOptions,
): CodeScanner {
  const { retry, ...options } = { ...LIMITS, ...limits }
  const scheduler = openScheduler(options)
  const pending = new Set<string>()
  /** Called when a scan ends. Not reactions of its promise, which would stay in memory as long as it is pending. */
  const listeners = new Set<(key: string, isFound: boolean) => void>()
  const end = new AbortController()

  /** Its key; undefined if the queue is full. */
  function start(scan: Scan): string | undefined {
    const key = `${scan.mailbox} ${scan.id}`
    if (pending.has(key)) return key
    try {
      // Charged by wall time; CPU time is measured and charged by the parser's own queue.
      const run = scheduler.run(key, { owner: ownerKeys(scan), rank: -scan.id }, () =>
        timed(() => scanWithRetries(deps, scan, retry, end.signal)),
      )
      pending.add(key)
      // Nothing is found if it was dropped in favour of a client with fewer.
      void run.catch(() => false).then((found) => finish(key, scan, found))
      return key
    } catch (error) {
      if (error instanceof Problem) return undefined
      throw error
    }
  }

  function finish(key: string, scan: Scan, found: boolean | 'refused'): void {
    pending.delete(key)
    for (const listener of listeners) listener(key, found === true)
    // Somebody may wait for its code, and nothing else of the mailbox may change.
    if (found === 'refused') start(scan)
  }

  /** Whether one of them has found something by the end of all, or of the time. */
  async function anyFound(keys: readonly string[], waitMs: number): Promise<boolean> {
    const left = new Set(keys).intersection(pending)
    let isAnyFound = left.size < keys.length
    if (left.size === 0) return isAnyFound
    const all = Promise.withResolvers<void>()
    const listener = (key: string, isFound: boolean) => {
      if (left.delete(key) && isFound) isAnyFound = true
      if (left.size === 0) all.resolve()
    }
    listeners.add(listener)
    await withTimeout(waitMs, all.promise)
    listeners.delete(listener)
    return isAnyFound
  }

  return {
    scan(mailbox, messages, client) {
      const unscanned = messages.filter((message) => !isScanned(message))
      if (unscanned.length === 0) return undefined
      const keys: string[] = []
      for (const { id } of unscanned) {
        const key = start({ mailbox, id, client })
        // There is no room for the others either.
        if (key === undefined) break
        keys.push(key)
      }
      return {
        complete: keys.length === unscanned.length,
        found: (waitMs = resultWaitMs) => anyFound(keys, waitMs),
      }
    },
    close() {
      end.abort()
      scheduler.close()
    },
  }
}

interface Scan {
  mailbox: MailboxId
  id: number
  client: string | undefined
}

// 31 seconds in all.
const MAX_REFUSALS = 5

/**
 * True if the message is scanned now, false if it was deleted. A scan that is refused keeps its slot for a while: as long as the
 * store is unavailable, others wait. Then it is queued again.
 */
async function scanWithRetries(
  deps: CodeScannerDeps,
  scan: Scan,
  retry: Backoff,
  ended: AbortSignal,
): Promise<boolean | 'refused'> {
  for (let refusals = 1; refusals <= MAX_REFUSALS; refusals += 1) {
    try {
      return await scanMessage(deps, scan)
    } catch (error) {
      ended.throwIfAborted()
      if (!(error instanceof Problem)) {
        logFault(deps.log, error, 'scanning a message for codes failed')
        return false
      }
    }
    await pause(backoffDelay(refusals, retry), undefined, { signal: ended })
  }
  return 'refused'
}

async function scanMessage(
  { store, bus, parsed, senderChecks }: CodeScannerDeps,
  { mailbox, id, client }: Scan,
): Promise<boolean> {
  const message = await store.findMessage(mailbox, id)
  if (!message) return false
  // Another thread was faster.
  if (isScanned(message)) return true
  const { recipient, size } = message
  const mail = await parsed(message.rawId, { client, mailbox: recipient, size, background: true })
  if (!mail) return false
  // So that opening the message does not wait for them.
  void senderChecks(message, 'background')
  // Clients with a key do not see the result and are not woken.
  if (await store.saveScan({ mailbox, id, ...scanResult(mail) })) bus.wake(mailbox)
  return true
}

/** A scanner that charges its scans to this client. */
export function scannerForClient(
  { scan }: Pick<CodeScanner, 'scan'>,
  client: string | undefined,
): Pick<CodeScanner, 'scan'> {
  return { scan: (mailbox, messages) => scan(mailbox, messages, client) }
}
