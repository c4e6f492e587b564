import { Problem } from './problem.ts'

export interface SchedulerOptions {
  slots: number
  /** Maximum waiting requests, in total and per key of an owner. Background requests are not counted: their producer limits them. */
  maxWaiting: number
  maxWaitingPerKey: number
  overloadMessage: string
}

/** A request that waits or runs. */
export interface Entry {
  /** Its keys, joined. */
  owner: string
  accounts: Account[]
  background: boolean
  rank: number
  /** Its place in the order of arrival. */
  arrival: number
  /** Virtual time at which it was taken. */
  start: number
  /** In the background, but taken although others could run. */
  isAhead: boolean
}

/** By owner, in the order in which they run: thousands may wait, most of them of a few owners. */
type Waiting<E> = Map<string, E[]>

interface Queue<E extends Entry> {
  options: SchedulerOptions
  /** How many slots an owner, or all background jobs, may occupy. */
  maxRunning: number
  accounts: Map<string, Account>
  foreground: Waiting<E>
  background: Waiting<E>
  running: Set<E>
  /** Number of those waiting in the foreground. */
  waiting: number
  arrivals: number
  virtualTime: number
  /** Cost that background jobs may use ahead of the others. */
  credit: number
  /** Number of accounts at which unused ones are dropped. */
  cleanAt: number
}

/** What a key of an owner has used and requested. */
interface Account {
  /** Virtual time up to which the key has used its share. */
  used: number
  /** Requests, waiting or running. */
  requests: number
  /** Those of them that wait in the foreground. */
  waiting: number
  running: number
}

export function openQueue<E extends Entry>(options: SchedulerOptions): Queue<E> {
  return {
    ...{ options, maxRunning: Math.max(1, options.slots - 1) },
    ...{ accounts: new Map(), foreground: new Map(), background: new Map(), running: new Set() },
    ...{ waiting: 0, arrivals: 0, virtualTime: 0, credit: 0, cleanAt: 0 },
  }
}

export function accountOf({ accounts, virtualTime }: Queue<Entry>, key: string): Account {
  const idle = { used: virtualTime, requests: 0, waiting: 0, running: 0 }
  const account = accounts.get(key) ?? idle
  accounts.set(key, account)
  return account
}

export function enqueue<E extends Entry>(queue: Queue<E>, entry: E): void {
  const { background, owner, rank } = entry
  queue.arrivals += 1
  entry.arrival = queue.arrivals
  const waiting = background ? queue.background : queue.foreground
  const own = waiting.get(owner) ?? []
  own.splice(own.findLastIndex((other) => other.rank <= rank) + 1, 0, entry)
  waiting.set(owner, own)
  count(queue, entry, 1)
}

/** Has no effect if the request does not wait. */
export function dequeue<E extends Entry>(queue: Queue<E>, entry: E): void {
  const waiting = entry.background ? queue.background : queue.foreground
  const own = waiting.get(entry.owner) ?? []
  const at = own.indexOf(entry)
  if (at < 0) return
  own.splice(at, 1)
  if (own.length === 0) waiting.delete(entry.owner)
  count(queue, entry, -1)
}

function count(queue: Queue<Entry>, { accounts, background }: Entry, change: 1 | -1): void {
  for (const account of accounts) account.requests += change
  if (!background) for (const counted of [queue, ...accounts]) counted.waiting += change
}

/** If too many wait, the last one of the owner with the most requests, which is dropped; throws if that is the newcomer. */
export function entryToDrop<E extends Entry>(
  { options, waiting, foreground }: Queue<E>,
  newcomer: E,
): E | undefined {
  const ownShare = shareOf(newcomer)
  if (ownShare >= options.maxWaitingPerKey) throw overloaded(options)
  if (waiting < options.maxWaiting) return undefined
  let last: E | undefined
  let most = ownShare + 1
  for (const own of foreground.values()) {
    const entry = own.at(-1) ?? newcomer
    const share = shareOf(entry)
    if (share > most || (share === most && last && isBefore(last, entry))) {
      last = entry
      most = share
    }
  }
  if (!last) throw overloaded(options)
  return last
}

function shareOf({ accounts }: Entry): number {
  let share = 0
  for (const { waiting } of accounts) if (waiting > share) share = waiting
  return share
}

/** The next job, which runs from now on. */
export function take<E extends Entry>(queue: Queue<E>): E | undefined {
  const { running, options, maxRunning } = queue
  if (running.size >= options.slots) return undefined
  const foreground = findNext(queue, queue.foreground)
  const inBackground = running.values().reduce((sum, { background }) => sum + Number(background), 0)
  const isAllowed = inBackground < maxRunning && (!foreground || queue.credit >= MIN_COST_MS)
  const background = isAllowed ? findNext(queue, queue.background) : undefined
  const taken = background ?? foreground
  if (!taken) return undefined
  taken.start = startOf(queue, taken)
  taken.isAhead = background !== undefined && foreground !== undefined
  // A background job that runs ahead must not advance the virtual time of the others.
  queue.virtualTime = foreground ? startOf(queue, foreground) : taken.start
  dequeue(queue, taken)
  running.add(taken)
  for (const account of taken.accounts) {
    account.requests += 1
    account.running += 1
  }
  return taken
}

const isBefore = (one: Entry, other: Entry) =>
  one.rank === other.rank ? one.arrival < other.arrival : one.rank < other.rank

// A plain loop: thousands of owners may wait.
function findNext<E extends Entry>(queue: Queue<E>, waiting: Waiting<E>): E | undefined {
  let found: E | undefined
  let lowest = Number.POSITIVE_INFINITY
  for (const [entry] of waiting.values()) {
    if (!entry) continue
    const start = startOf(queue, entry)
    if (start < lowest || (found && start === lowest && isBefore(entry, found))) {
      found = entry
      lowest = start
    }
  }
  return found
}

/** Infinite for an owner at its limit of running jobs. */
function startOf({ virtualTime, maxRunning }: Queue<Entry>, { accounts }: Entry): number {
  let start = virtualTime
  for (const { used, running } of accounts) {
    if (running >= maxRunning) return Number.POSITIVE_INFINITY
    if (used > start) start = used
  }
  return start
}

const MIN_COST_MS = 1
/** Background jobs get this share of the cost of the others, so that a busy queue cannot starve them. */
const BACKGROUND_SHARE = 1 / 8
/** Limits their burst. */
const MAX_CREDIT = 1_000

/** Ends a running job. */
export function charge<E extends Entry>(queue: Queue<E>, entry: E, costMs: number): void {
  const cost = Math.max(costMs, MIN_COST_MS)
  const { accounts, foreground, background, running } = queue
  running.delete(entry)
  for (const account of entry.accounts) {
    account.requests -= 1
    account.running -= 1
    account.used = Math.max(account.used, entry.start) + cost
  }
  if (entry.isAhead) queue.credit -= cost
  else if (!entry.background) queue.credit += cost * BACKGROUND_SHARE
  queue.credit = Math.min(queue.credit, background.size > 0 ? MAX_CREDIT : 0)
  // No debt outlasts the backlog, and no credit accumulates.
  if (foreground.size + background.size + running.size === 0) {
    queue.credit = 0
    accounts.clear()
  }
  // Idle accounts that virtual time has caught up with are dropped; all are examined only when their number has doubled.
  if (accounts.size <= queue.cleanAt) return
  for (const [key, { requests, used }] of accounts) {
    if (requests === 0 && used <= queue.virtualTime) accounts.delete(key)
  }
  queue.cleanAt = 2 * accounts.size
}

export function overloaded({ overloadMessage }: SchedulerOptions): Problem {
  return new Problem('overloaded', overloadMessage, 1)
}
