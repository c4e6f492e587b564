import { setTimeout as pause } from 'node:timers/promises'
import { type AccountsDeps, type ActiveAccount, activeAccounts } from '../sessions/accounts.ts'
import { acquireLease, DEFAULT_TIMING, type LeaseDeps, untilAborted } from './lease.ts'
import { logFault } from './outage.ts'

interface Deps extends LeaseDeps, AccountsDeps {
  store: LeaseDeps['store'] & AccountsDeps['store']
  /** Begins to fetch from an account; the answer ends it. */
  open(account: ActiveAccount): { close(): Promise<void> }
  ended: AbortSignal
}

// Within this an operator's switch counts.
const REFRESH_MS = 1_000
// A provider that sees many logins from one address at once may take them for an attack.
const STAGGER_MS = 250
// From so many on a node takes half as many in the same time as one that has none.
const MANY_ACCOUNTS = 8

/**
 * Fetches from those of the offered accounts whose lease it can have, one opened after the other, and no longer from those
 * that are not offered any more.
 */
export async function superviseAccounts(deps: Deps): Promise<void> {
  const { ended, log, timing = DEFAULT_TIMING } = deps
  /** Also those about to be closed: none is opened again before that. */
  const leased = new Map<number, { end: AbortController; done: Promise<void> }>()
  /** Somebody else's, and when they are asked for again. */
  const leasedElsewhere = new Map<number, number>()

  async function take(account: ActiveAccount): Promise<void> {
    const { id } = account
    const lease = await acquireLease(deps, `account ${id}`)
    if (!lease) {
      leasedElsewhere.set(id, performance.now() + timing.retry)
      return
    }
    leasedElsewhere.delete(id)
    const end = new AbortController()
    const done = lease
      .runWhileHeld((stop) => fetchFrom(deps, account, stop), end.signal)
      .catch((error: unknown) => {
        logFault(log, error, 'an account did not open or close; tried again')
      })
      .finally(() => leased.delete(id))
    leased.set(id, { end, done })
    await rest(staggerMs())
  }

  /** Nodes that begin at the same time take turns; where others fetch too, one that has many lets those go first that have few. */
  const staggerMs = () =>
    leasedElsewhere.size === 0
      ? STAGGER_MS
      : STAGGER_MS * (1 + Math.min(leased.size / MANY_ACCOUNTS, 1))

  function leave(isOffered: (id: number) => boolean): void {
    for (const [id, { end }] of leased) if (!isOffered(id)) end.abort()
    for (const id of leasedElsewhere.keys()) if (!isOffered(id)) leasedElsewhere.delete(id)
  }

  async function follow(): Promise<void> {
    const offered = await activeAccounts(deps)
    leave((id) => offered.some((account) => account.id === id))
    const isDue = (id: number) => performance.now() >= (leasedElsewhere.get(id) ?? 0)
    const free = offered.filter(({ id }) => !leased.has(id) && isDue(id))
    for (const account of free) if (!ended.aborted) await take(account)
  }
  const rest = (ms: number) => pause(ms, undefined, { signal: ended }).catch(() => {})

  while (!ended.aborted) {
    try {
      await follow()
    } catch (error) {
      logFault(log, error, 'the accounts could not be read and are read again')
    }
    await rest(REFRESH_MS)
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
