import { setTimeout as pause } from 'node:timers/promises'
import { type AccountsDeps, type ActiveAccount, activeAccounts } from '../sessions/accounts.ts'
import {
  acquireLease,
  DEFAULT_TIMING,
  type LeaseDeps,
  type LeaseTiming,
  untilAborted,
} from './lease.ts'
import { logFault } from './outage.ts'

interface Deps extends Omit<LeaseDeps, 'store'>, AccountsDeps {
  open(account: ActiveAccount): { close(): Promise<void> }
  ended: AbortSignal
  timing?: SupervisionTiming
}

interface SupervisionTiming extends LeaseTiming {
  /** How soon a change by the operator takes effect. */
  refreshMs: number
  /** Between two logins: many at once from one address may look like an attack to the provider. */
  staggerMs: number
}

const TIMING: SupervisionTiming = { ...DEFAULT_TIMING, refreshMs: 1_000, staggerMs: 250 }
// A node with this many accounts takes new ones at half the rate of a node with none.
const MANY_ACCOUNTS = 8

/**
 * Fetches from the active accounts whose lease this node gets, opening one after the other, and stops when an account is no
 * longer active.
 */
export async function superviseAccounts(deps: Deps): Promise<void> {
  const { ended, log, timing = TIMING } = deps
  /** Includes accounts that are closing: none is reopened before that. */
  const leased = new Map<number, { end: AbortController; done: Promise<void> }>()
  /** Leased by other nodes, and when to try again. */
  const leasedElsewhere = new Map<number, number>()

  async function take(account: ActiveAccount): Promise<void> {
    const { id } = account
    const lease = await acquireLease(deps, `account ${id}`)
    if (!lease) {
      leasedElsewhere.set(id, performance.now() + timing.retryMs)
      return
    }
    leasedElsewhere.delete(id)
    const end = new AbortController()
    const done = lease
      .runWhileHeld((stop) => fetchFrom(deps, account, stop), end.signal)
      .catch((error: unknown) => {
        logFault(log, error, 'opening or closing an account failed; retrying')
      })
      .finally(() => leased.delete(id))
    leased.set(id, { end, done })
    await rest(staggerMs())
  }

  /** Nodes that start at the same time alternate; with several nodes, those with fewer accounts go first. */
  const staggerMs = () =>
    leasedElsewhere.size === 0
      ? timing.staggerMs
      : timing.staggerMs * (1 + Math.min(leased.size / MANY_ACCOUNTS, 1))

  function release(isActive: (id: number) => boolean): void {
    for (const [id, { end }] of leased) if (!isActive(id)) end.abort()
    for (const id of leasedElsewhere.keys()) if (!isActive(id)) leasedElsewhere.delete(id)
  }

  async function follow(): Promise<void> {
    const active = await activeAccounts(deps)
    release((id) => active.some((account) => account.id === id))
    const isDue = (id: number) => performance.now() >= (leasedElsewhere.get(id) ?? 0)
    const free = active.filter(({ id }) => !leased.has(id) && isDue(id))
    for (const account of free) if (!ended.aborted) await take(account)
  }
  const rest = (ms: number) => pause(ms, undefined, { signal: ended }).catch(() => {})

  while (!ended.aborted) {
    try {
      await follow()
    } catch (error) {
      logFault(log, error, 'reading the accounts failed; retrying')
    }
    await rest(timing.refreshMs)
  }
  for (const { end } of leased.values()) end.abort()
  await Promise.all([...leased.values()].map(({ done }) => done))
}

async function fetchFrom(
  { open }: Pick<Deps, 'open'>,
  account: ActiveAccount,
  stop: AbortSignal,
): Promise<void> {
  const opened = open(account)
  await untilAborted(stop)
  await opened.close()
}
