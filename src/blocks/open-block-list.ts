import { setImmediate } from 'node:timers/promises'
import { type Awaitable, whenAvailable } from '../base/awaitable.ts'
import { repeatUntilAborted } from '../base/jobs/repeat.ts'
import type { Log } from '../base/log/log.ts'
import { openLru } from '../base/lru.ts'
import { counter } from '../base/metrics.ts'
import { runSteps } from '../base/run-steps.ts'
import {
  BLOCK_REASONS,
  type BlockFacts,
  type BlockReason,
  type FindBlock,
  type FindMailBlock,
  type MailFacts,
} from '../mail/blocking.ts'
import { type BlockList, blockList } from './rules.ts'
import type { BlockStore } from './store.ts'

const refusals = counter(
  'mayfly_block_list_refusals_total',
  'Connections, MAIL commands and mails refused by the block list, by what matched',
  'reason',
)
for (const reason of BLOCK_REASONS) refusals.add(reason, 0)

interface BlockListDeps {
  store: Pick<BlockStore, 'lastBlockChange' | 'readBlockChanges'>
  log: Pick<Log, 'error'>
  now(): Date
  /** Only tests set these. */
  intervalMs?: number
  reloadMs?: number
}

// Commands change the list in their own process, so changes are polled: twice within the second that they may take.
const POLL_MS = 400
const PAGE = 1_000
const MAX_UNBLOCKED = 10_000
// Takes a millisecond or two, if all are as long as possible.
const FROM_AT_ONCE = 100
// Drops expired blocks from memory, and repairs what a failover that lost changes has left.
const RELOAD_MS = 3_600_000

/** A list, and the number of the last change that is in it. */
interface ReadList {
  list: BlockList
  last: number
}

/** The block list of one thread, loaded when this resolves, and kept up to date until it is closed. */
export async function openBlockList(deps: BlockListDeps) {
  const { now } = deps
  // Clients that are not blocked, until the list changes: most are asked about three times per mail.
  let unblocked = openLru<string, true>(MAX_UNBLOCKED)
  const { currentList, close } = await followBlockList(deps, () => {
    unblocked = openLru(MAX_UNBLOCKED)
  })

  function match({ clientIp = '', mailFrom = '' }: BlockFacts): BlockReason | undefined {
    const list = currentList()
    const time = now()
    if (clientIp !== '' && !unblocked.get(clientIp)) {
      if (list.hasClient(clientIp, time)) return 'client'
      unblocked.set(clientIp, true)
    }
    return list.hasSender(mailFrom, time) ? 'mail_from' : undefined
  }

  /** In steps: other connections proceed in between. */
  function* matchFrom(
    addresses: Iterable<string | undefined>,
  ): Generator<undefined, BlockReason | undefined> {
    let time = now()
    let left = FROM_AT_ONCE
    for (const address of addresses) {
      if (address !== undefined && currentList().hasSender(address, time)) return 'from_header'
      left = address === undefined ? 0 : left - 1
      if (left > 0) continue
      yield undefined
      time = now()
      left = FROM_AT_ONCE
    }
    return undefined
  }

  function matchMail({ readFrom, ...facts }: MailFacts): Awaitable<BlockReason | undefined> {
    const known = match(facts)
    if (known || !currentList().hasSenders()) return known
    return runSteps(matchFrom(readFrom()))
  }

  function count(reason: BlockReason | undefined): BlockReason | undefined {
    if (reason) refusals.add(reason)
    return reason
  }

  const findBlock: FindBlock = (facts) => count(match(facts))
  const findMailBlock: FindMailBlock = (facts) => whenAvailable(matchMail(facts), count)
  return { findBlock, findMailBlock, close }
}

/** `onChange` is called in the same turn in which the list changes. */
async function followBlockList(
  { store, log, now, intervalMs = POLL_MS, reloadMs = RELOAD_MS }: BlockListDeps,
  onChange: () => void,
) {
  const end = new AbortController()
  const empty = (): ReadList => ({ list: blockList(), last: 0 })
  let current = empty()
  let loadedAt = performance.now()
  /** The next list, read by a page per poll. */
  let next: ReadList | undefined

  /** `number`: of the last change, read before. Numbers without a row are those of blocks that were not there to remove. */
  async function readAll(target: ReadList, number: number): Promise<ReadList> {
    // Mail and requests come first.
    while (!(await readPage(target))) await setImmediate()
    target.last = Math.max(target.last, number)
    return target
  }

  /** True at the end. */
  async function readPage(target: ReadList): Promise<boolean> {
    const changes = await store.readBlockChanges(target.last, PAGE)
    for (const change of changes) target.list.apply(change, now())
    target.last = changes.at(-1)?.number ?? target.last
    if (target === current && changes.length > 0) onChange()
    return changes.length < PAGE
  }

  function replace(list: ReadList): void {
    current = list
    next = undefined
    loadedAt = performance.now()
    onChange()
  }

  async function poll(): Promise<void> {
    const number = await store.lastBlockChange()
    // After a failover that lost changes, new ones get their numbers.
    if (number < current.last) replace(await readAll(empty(), number))
    else if (number > current.last) await readAll(current, number)
    if (performance.now() - loadedAt >= reloadMs) next ??= empty()
    if (next && (await readPage(next))) {
      replace({ list: next.list, last: Math.max(next.last, current.last) })
    }
  }

  await readAll(current, await store.lastBlockChange())
  const following = repeatUntilAborted(end.signal, {
    operation: poll,
    failed: 'cannot read the block list; retrying',
    intervalMs,
    log,
  })
  return {
    currentList: () => current.list,
    async close(): Promise<void> {
      end.abort()
      await following
    },
  }
}
