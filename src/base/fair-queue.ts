import { Problem } from './problem.ts'

/**
 * On whose behalf a job runs, as keys such as a client and a mailbox. Fairness and limits apply to each key: a client with
 * many mailboxes and a mailbox with many clients both get one share.
 */
export type Owner = readonly string[]

export interface FairQueueLimits {
  /** Maximum waiting jobs, in total and per key. Background jobs are not counted: their producer limits them. */
  waiting: number
  waitingPerKey: number
  /** Maximum running jobs per key, background jobs included. */
  runningPerKey: number
  overloadMessage: string
}

interface Position {
  owner: Owner
  /** Yields to the other jobs, except for a small share. */
  background?: boolean
  /** Order among jobs of one owner, lowest first; default: order of arrival. */
  rank?: number
}

/** A queued job, and later the handle of the running job. */
export interface Ticket<T> {
  readonly item: T
  readonly background: boolean
}

interface FairQueue<T> {
  /** Throws `overloaded` if too many jobs wait; with `dropped`, drops a job of the owner with the most jobs instead. */
  add(item: T, position: Position): Ticket<T>
  /** Has no effect on a job that is already running. */
  remove(ticket: Ticket<T>): void
  /** The next job, which counts as running from now on; `room.background` allows background jobs. */
  take(room: { background: boolean }): Ticket<T> | undefined
  /** Ends a running job and charges its cost. */
  done(ticket: Ticket<T>, cost: number): void
  clear(): T[]
}

/**
 * Start-time fair queueing by actual cost (milliseconds of CPU), not by number of jobs: a hostile mail costs 500 times as much
 * as an ordinary one, so round robin would give its reader 500 times the share. The cost is known only afterwards and is
 * charged when a job ends; `runningPerKey` bounds how far a key can overdraw.
 */
export function openFairQueue<T>(
  limits: FairQueueLimits,
  dropped?: (item: T) => void,
): FairQueue<T> {
  const state: State<T> = {
    limits,
    accounts: new Map(),
    sizeAtCleanup: MIN_CLEANUP_SIZE,
    foreground: new Map(),
    background: new Map(),
    virtualTime: 0,
    arrivals: 0,
    queued: 0,
    waiting: 0,
    running: 0,
    credit: 0,
    sinceBackground: 0,
  }

  return {
    add(item, { owner, background = false, rank = state.arrivals }) {
      const accounts = owner.map((key) => accountOf(state, key))
      if (!background) makeRoom(state, accounts, dropped)
      const name = owner.join('\n')
      const flows = background ? state.background : state.foreground
      const flow = flows.get(name) ?? { name, accounts, tickets: [] }
      const ticket = {
        item,
        background,
        flow,
        rank,
        arrival: state.arrivals,
        start: 0,
        isAhead: false,
      }
      state.arrivals += 1
      flows.set(name, flow)
      flow.tickets.splice(flow.tickets.findLastIndex((other) => other.rank <= rank) + 1, 0, ticket)
      count(state, ticket, 1)
      return ticket
    },
    remove: (ticket) => removeTicket(state, ticket as QueuedTicket<T>),
    take(room) {
      const ticket = nextTicket(state, room)
      if (!ticket) return undefined
      state.running += 1
      for (const account of ticket.flow.accounts) account.running += 1
      removeTicket(state, ticket)
      return ticket
    },
    done(ticket, cost) {
      const { flow, start, isAhead } = ticket as QueuedTicket<T>
      state.running -= 1
      credit(state, ticket.background ? (isAhead ? -cost : 0) : cost * BACKGROUND_SHARE)
      for (const account of flow.accounts) {
        account.running -= 1
        account.used = Math.max(account.used, start) + cost
      }
      dropIdleAccounts(state)
    },
    clear() {
      const flows = [...state.foreground.values(), ...state.background.values()]
      const tickets = flows.flatMap((flow) => flow.tickets)
      for (const ticket of tickets) removeTicket(state, ticket)
      return tickets.map(({ item }) => item)
    },
  }
}

interface State<T> {
  limits: FairQueueLimits
  accounts: Map<string, Account>
  /** Number of accounts left by the last cleanup. */
  sizeAtCleanup: number
  foreground: Map<string, Flow<T>>
  background: Map<string, Flow<T>>
  virtualTime: number
  arrivals: number
  queued: number
  /** Of those queued, the ones that are not background jobs. */
  waiting: number
  running: number
  /** Cost that background jobs may use ahead of the others. */
  credit: number
  /** Foreground jobs started since the last background job. */
  sinceBackground: number
}

/** A background job runs after this many others, within this share of their cost, so that a busy queue cannot starve them. */
const FOREGROUND_PER_BACKGROUND = 8
const BACKGROUND_SHARE = 1 / FOREGROUND_PER_BACKGROUND
/** Limits the burst of background jobs. */
const MAX_CREDIT = 1_000

function credit<T>(state: State<T>, change: number): void {
  const most = state.background.size === 0 ? 0 : MAX_CREDIT
  state.credit = Math.min(state.credit + change, most)
}

function nextTicket<T>(
  state: State<T>,
  room: { background: boolean },
): QueuedTicket<T> | undefined {
  const foreground = nextFlow(state, state.foreground)
  const isDue =
    !foreground || (state.sinceBackground >= FOREGROUND_PER_BACKGROUND && state.credit > 0)
  const background = room.background && isDue ? nextFlow(state, state.background) : undefined
  const flow = background ?? foreground
  const ticket = flow?.tickets[0]
  if (!flow || !ticket) return undefined
  ticket.start = startOf(state, flow)
  ticket.isAhead = background !== undefined && foreground !== undefined
  state.sinceBackground = background || state.background.size === 0 ? 0 : state.sinceBackground + 1
  // A background job that runs ahead must not advance the virtual time of the others.
  state.virtualTime = foreground ? startOf(state, foreground) : ticket.start
  return ticket
}

function accountOf<T>({ accounts, virtualTime }: State<T>, key: string): Account {
  const account = accounts.get(key) ?? { used: virtualTime, queued: 0, waiting: 0, running: 0 }
  accounts.set(key, account)
  return account
}

function makeRoom<T>(
  state: State<T>,
  newcomer: readonly Account[],
  dropped: ((item: T) => void) | undefined,
): void {
  const { limits, foreground, waiting } = state
  const own = Math.max(...newcomer.map((account) => account.waiting))
  if (own >= limits.waitingPerKey) throw overloaded(limits.overloadMessage)
  if (waiting < limits.waiting) return
  let longest: Flow<T> | undefined
  for (const flow of foreground.values()) {
    if (!longest || shareOf(flow) > shareOf(longest)) longest = flow
  }
  const last = longest?.tickets.at(-1)
  if (!dropped || !longest || !last || shareOf(longest) <= own + 1) {
    throw overloaded(limits.overloadMessage)
  }
  removeTicket(state, last)
  dropped(last.item)
}

function count<T>(state: State<T>, { flow, background }: QueuedTicket<T>, change: 1 | -1): void {
  for (const counted of [state, ...flow.accounts]) {
    counted.queued += change
    if (!background) counted.waiting += change
  }
}

/** Has no effect if the ticket is no longer queued. */
function removeTicket<T>(state: State<T>, ticket: QueuedTicket<T>): void {
  const { flow, background } = ticket
  const at = flow.tickets.indexOf(ticket)
  if (at < 0) return
  flow.tickets.splice(at, 1)
  if (flow.tickets.length === 0)
    (background ? state.background : state.foreground).delete(flow.name)
  count(state, ticket, -1)
}

// Plain loops: there may be thousands of flows.
function nextFlow<T>(state: State<T>, flows: Map<string, Flow<T>>): Flow<T> | undefined {
  let found: Flow<T> | undefined
  let lowest = Number.POSITIVE_INFINITY
  for (const flow of flows.values()) {
    const start = startOf(state, flow)
    const isEarlier = found && start === lowest && arrivalOf(flow) < arrivalOf(found)
    if (start < lowest || isEarlier) {
      found = flow
      lowest = start
    }
  }
  return found
}

/** Infinite for a flow at its limit of running jobs. */
function startOf<T>({ virtualTime, limits }: State<T>, { accounts }: Flow<T>): number {
  let start = virtualTime
  for (const { used, running } of accounts) {
    if (running >= limits.runningPerKey) return Number.POSITIVE_INFINITY
    if (used > start) start = used
  }
  return start
}

/** Drops idle accounts that virtual time has caught up with: no credit accumulates, and no debt outlasts the backlog. */
function dropIdleAccounts<T>(state: State<T>): void {
  const { accounts } = state
  if (state.queued === 0 && state.running === 0) {
    accounts.clear()
    state.virtualTime = 0
    state.credit = 0
  }
  if (accounts.size < 2 * state.sizeAtCleanup) return
  for (const [key, { queued, running, used }] of accounts) {
    if (queued === 0 && running === 0 && used <= state.virtualTime) accounts.delete(key)
  }
  state.sizeAtCleanup = Math.max(accounts.size, MIN_CLEANUP_SIZE)
}

/** Cleanup runs when the number of accounts has doubled. */
const MIN_CLEANUP_SIZE = 64

interface Account {
  /** Virtual time up to which the key has used its share. */
  used: number
  queued: number
  /** Of those queued, the ones that are not background jobs. */
  waiting: number
  running: number
}

/** The jobs of one owner. */
interface Flow<T> {
  name: string
  accounts: Account[]
  tickets: QueuedTicket<T>[]
}

interface QueuedTicket<T> extends Ticket<T> {
  flow: Flow<T>
  rank: number
  arrival: number
  /** Virtual time at which it was taken. */
  start: number
  /** A background job that was taken although others could run. */
  isAhead: boolean
}

function shareOf<T>({ accounts }: Flow<T>): number {
  return Math.max(...accounts.map((account) => account.waiting))
}

function arrivalOf<T>({ tickets }: Flow<T>): number {
  return tickets[0]?.arrival ?? 0
}

export function overloaded(message: string): Problem {
  return new Problem('overloaded', message, 1)
}
