import type { Bus } from '../../bus/bus.ts'
import type { Log } from '../../core/log.ts'
import type { MessageSummary } from '../../core/message.ts'
import { Problem, StoreUnavailable } from '../../core/problem.ts'
import type { MailboxId } from '../../core/session.ts'
import type { MailStore } from '../../store/store.ts'
import { logFault } from '../background/outage.ts'
import { withTimeout } from '../background/repeat.ts'
import type { ReadParsed } from './parsed-mail.ts'
import { openScanQueue, type ScanLimits, type ScanRequest } from './scan-queue.ts'
import type { CheckSender } from './sender-checks.ts'

export interface CodeScanner {
  /** Has those of the messages looked at that nobody has looked at. Undefined when there are none. `client`: see Lookup. */
  look(
    mailbox: MailboxId,
    messages: readonly MessageSummary[],
    client?: string,
  ): CodeScan | undefined
  close(): void
}

interface CodeScan {
  /** False: too many wait. Whoever keeps what he saw of these messages would never see their codes. */
  whole: boolean
  /** Waits for them a little while, in all. True when there are codes by then: it is worth listing again. */
  found(): Promise<boolean>
}

export interface CodeScannerDeps {
  store: Pick<MailStore, 'findMessage' | 'saveCode'>
  bus: Pick<Bus, 'wake'>
  parsed: ReadParsed
  senderChecks: CheckSender
  log: Pick<Log, 'error'>
}

interface CodeScannerOptions {
  /** So long a list or an event waits for a code. */
  patienceMs: number
  limits?: ScanLimits
}

// One child reads these, and while it does the next are fetched and the last are kept.
const LIMITS: ScanLimits = {
  atOnce: 8,
  atOncePerOwner: 4,
  waiting: 10_000,
  waitingPerOwner: 1_000,
  restMs: 1_000,
  longestRestMs: 30_000,
}

/**
 * Reads the likeliest code out of mail that somebody watches or lists, and notes it with the message; those who wait for news of
 * the mailbox are woken. Each message is looked at once, in the background.
 */
export function openCodeScanner(
  { store, bus, parsed, senderChecks, log }: CodeScannerDeps,
  { patienceMs, limits = LIMITS }: CodeScannerOptions,
): CodeScanner {
  const lookups = openScanQueue({ run: scanMessage, failed, limits })

  async function scanMessage({ mailbox, id, client }: ScanRequest): Promise<string> {
    const message = await store.findMessage(mailbox, id)
    if (!message) return ''
    // Another thread was quicker.
    if (message.code !== undefined) return message.code
    const { recipient, size } = message
    const request = { client, mailbox: recipient, size, background: true }
    const mail = await parsed(message.rawId, request)
    if (!mail) return ''
    // Whoever opens it then need not wait for them.
    void senderChecks(message, 'later')
    const code = mail.codes[0]?.value ?? ''
    const noted = await store.saveCode({ mailbox, id, code }).catch(throwAsUnavailable)
    // Not those who wait with a key: they see no codes.
    if (noted && code !== '') bus.wake(mailbox)
    return code
  }

  function failed(error: unknown): void {
    logFault(log, error, 'a mail could not be looked at for a code')
  }

  return {
    look(mailbox, messages, client) {
      const asked = messages.filter(({ code }) => code === undefined)
      if (asked.length === 0) return undefined
      const scans = asked.map(({ id }) => lookups.add({ mailbox, id, client }))
      return {
        whole: !scans.includes(undefined),
        async found() {
          let isFound = false
          const each = scans.map(async (look) => {
            if (await look) isFound = true
          })
          await withTimeout(patienceMs, Promise.all(each))
          return isFound
        },
      }
    },
    close: lookups.close,
  }
}

/** A store that is full refuses the next look-up as well. */
function throwAsUnavailable(error: unknown): never {
  throw error instanceof Problem ? new StoreUnavailable(error) : error
}

/** The same for requests of one client. */
export function scannerForClient(
  { look }: Pick<CodeScanner, 'look'>,
  client: string | undefined,
): Pick<CodeScanner, 'look'> {
  return { look: (mailbox, messages) => look(mailbox, messages, client) }
}
