import { setImmediate } from 'node:timers/promises'
import { type BlockList, blockList } from '../../core/block-list.ts'
import type { Log } from '../../core/log.ts'
import { openLru } from '../../core/lru.ts'
import { counter } from '../../core/metrics.ts'
import type { MailStore } from '../../store/store.ts'
import { repeatUntilAborted } from '../background/repeat.ts'

/** What the list knows of a mail, or of a client that has not sent one yet. */
export interface BlockFacts {
  clientIp?: string | undefined
  /** Of MAIL FROM. */
  mailFrom?: string | undefined
  /** The address of the From header. */
  from?: string | undefined
}

const REASONS = ['client', 'mail_from', 'from_header'] as const
export type BlockReason = (typeof REASONS)[number]

/** Why it is blocked, for a caller that refuses it then; undefined if it is not. */
export type FindBlock = (facts: BlockFacts) => BlockReason | undefined

const refusals = counter(
  'mayfly_block_list_refusals_total',
  'Connections, MAIL commands and mails refused by the block list, by what matched',
  'reason',
)
for (const reason of REASONS) refusals.add(reason, 0)

interface BlockListDeps {
  store: Pick<MailStore, 'readBlockChanges'>
  log: Pick<Log, 'error'>
  now(): Date
  intervalMs?: number
}

// Commands change the list in their own process, so changes are polled: twice within the second that they may take.
const POLL_MS = 400
const PAGE = 1_000
const MAX_UNBLOCKED = 10_000
// Drops expired blocks from memory.
const RELOAD_MS = 3_600_000

/** The block list of one thread, loaded when this resolves, and kept up to date until it is closed. */
export async function openBlockList({ store, log, now, intervalMs = POLL_MS }: BlockListDeps) {
  const end = new AbortController()
  let current: { list: BlockList; last: number; loadedAt: number }
  // Clients that are not blocked, until the list changes: most are asked about three times per mail.
  let unblocked = openLru<string, true>(MAX_UNBLOCKED)

  async function load() {
    const list = blockList()
    current = { list, last: await applyChanges(list, 0), loadedAt: performance.now() }
    // Asked about in between, of the former list.
    unblocked = openLru(MAX_UNBLOCKED)
  }

  /** Returns the number of the last change. */
  async function applyChanges(list: BlockList, after: number): Promise<number> {
    let last = after
    for (;;) {
      const changes = await store.readBlockChanges(last, PAGE)
      for (const change of changes) list.apply(change, now())
      if (changes.length > 0) unblocked = openLru(MAX_UNBLOCKED)
      last = changes.at(-1)?.number ?? last
      if (changes.length < PAGE) return last
      // Mail and requests come first.
      await setImmediate()
    }
  }

  await load()
  const following = repeatUntilAborted(end.signal, {
    operation: async () => {
      if (performance.now() - current.loadedAt > RELOAD_MS) await load()
      else current.last = await applyChanges(current.list, current.last)
      return true
    },
    failed: 'cannot read the block list; retrying',
    intervalMs,
    log,
  })

  function match({ clientIp = '', mailFrom = '', from = '' }: BlockFacts): BlockReason | undefined {
    const { list } = current
    const time = now()
    if (clientIp !== '' && !unblocked.get(clientIp)) {
      if (list.hasClient(clientIp, time)) return 'client'
      unblocked.set(clientIp, true)
    }
    if (list.hasSender(mailFrom, time)) return 'mail_from'
    return list.hasSender(from, time) ? 'from_header' : undefined
  }

  const findBlock: FindBlock = (facts) => {
    const reason = match(facts)
    if (reason) refusals.add(reason)
    return reason
  }

  return {
    findBlock,
    async close(): Promise<void> {
      end.abort()
      await following
    },
  }
}
