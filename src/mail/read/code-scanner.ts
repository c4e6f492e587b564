import { logFault } from '../../base/jobs/outage.ts'
import { withTimeout } from '../../base/jobs/repeat.ts'
import { Problem, StoreUnavailable } from '../../base/problem.ts'
import type { MailDeps } from '../deps.ts'
import { isScanned, type MessageSummary, scanResult } from '../rules/message.ts'
import type { MailboxId } from '../rules/session.ts'
import { openScanQueue, type ScanLimits, type ScanRequest } from './scan-queue.ts'

export interface CodeScanner {
  /** Scans the messages that have not been scanned yet. Undefined if there are none. `client`: see ScanRequest. */
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

type Scan = Promise<boolean | undefined> | undefined

interface CodeScannerOptions {
  /** How long a list or an event waits for results. */
  resultWaitMs: number
  limits?: ScanLimits
}

// One child parses; meanwhile the next mails are read and the last results are stored.
const LIMITS: ScanLimits = {
  atOnce: 8,
  atOncePerOwner: 4,
  waiting: 10_000,
  waitingPerOwner: 1_000,
  retry: { first: 1_000, max: 30_000 },
}

/**
 * Has mail that is watched or listed parsed, stores its most likely code and its preview with the message, and wakes the
 * waiters of the mailbox. Each message is scanned once, in the background.
 */
export function openCodeScanner(
  {
    store,
    bus,
    parsed,
    senderChecks,
    log,
  }: Pick<MailDeps, 'store' | 'bus' | 'parsed' | 'senderChecks' | 'log'>,
  { resultWaitMs, limits = LIMITS }: CodeScannerOptions,
): CodeScanner {
  const queue = openScanQueue({ run: scanMessage, failed, limits })
  // While the parser is behind, a mailbox may be polled very often.
  const react = openReactions<boolean | undefined>()

  /** True if the message, unless it was deleted meanwhile, is scanned now. */
  async function scanMessage({ mailbox, id, client }: ScanRequest): Promise<boolean> {
    const message = await store.findMessage(mailbox, id)
    if (!message) return false
    // Another thread was faster.
    if (isScanned(message)) return true
    const { recipient, size } = message
    const request = { client, mailbox: recipient, size, background: true }
    const mail = await parsed(message.rawId, request)
    if (!mail) return false
    // So that opening the message does not wait for them.
    void senderChecks(message, 'background')
    const scan = { mailbox, id, ...scanResult(mail) }
    // Clients with a key do not see the result and are not woken.
    if (await store.saveScan(scan).catch(throwAsUnavailable)) bus.wake(mailbox)
    return true
  }

  /** Whether one of them has found something by the end of all, or of the time. */
  async function anyFound(scans: readonly Scan[], waitMs: number): Promise<boolean> {
    const pending = new Set(scans.filter((scan) => scan !== undefined))
    if (pending.size === 0) return false
    let isFound = false
    const all = Promise.withResolvers<void>()
    const stops = [...pending].map((scan) =>
      react(scan, (found) => {
        if (found) isFound = true
        pending.delete(scan)
        if (pending.size === 0) all.resolve()
      }),
    )
    await withTimeout(waitMs, all.promise)
    for (const stop of stops) stop()
    return isFound
  }

  function failed(error: unknown): void {
    logFault(log, error, 'scanning a message for codes failed')
  }

  return {
    scan(mailbox, messages, client) {
      const unscanned = messages.filter((message) => !isScanned(message))
      if (unscanned.length === 0) return undefined
      const scans = unscanned.map(({ id }) => queue.add({ mailbox, id, client }))
      return {
        complete: !scans.includes(undefined),
        found: (waitMs = resultWaitMs) => anyFound(scans, waitMs),
      }
    },
    close: queue.close,
  }
}

/** A full store would refuse the next scan as well. */
function throwAsUnavailable(error: unknown): never {
  throw error instanceof Problem ? new StoreUnavailable(error) : error
}

/** A scanner that charges its scans to this client. */
export function scannerForClient(
  { scan }: MailDeps['codes'],
  client: string | undefined,
): MailDeps['codes'] {
  return { scan: (mailbox, messages) => scan(mailbox, messages, client) }
}

/**
 * Calls listeners when a promise is fulfilled. Unlike a reaction of the promise itself, a listener can be removed: a promise that
 * stays pending would otherwise keep everyone in memory who ever waited for it.
 */
function openReactions<T>() {
  const listeners = new Map<Promise<T>, Set<(value: T) => void>>()

  function listenersOf(promise: Promise<T>): Set<(value: T) => void> {
    const known = listeners.get(promise)
    if (known) return known
    const added = new Set<(value: T) => void>()
    listeners.set(promise, added)
    void promise.then((value) => {
      listeners.delete(promise)
      for (const listener of added) listener(value)
    })
    return added
  }

  /** Returns a function that removes the listener. */
  return (promise: Promise<T>, listener: (value: T) => void): (() => void) => {
    const all = listenersOf(promise)
    all.add(listener)
    return () => void all.delete(listener)
  }
}
