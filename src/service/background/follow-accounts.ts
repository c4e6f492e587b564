import { setTimeout as pause } from 'node:timers/promises'
import { type AccountsDeps, type OfferedAccount, offeredAccounts } from '../sessions/accounts.ts'
import { type LeaseDeps, takeLease, USUAL_TEMPO, untilAborted } from './lease.ts'
import { logFault } from './outage.ts'

interface Deps extends LeaseDeps, AccountsDeps {
  store: LeaseDeps['store'] & AccountsDeps['store']
  /** Begins to fetch from an account; the answer ends it. */
  open(account: OfferedAccount): { close(): Promise<void> }
  ended: AbortSignal
}

// Within this an operator's switch counts.
const LOOK_MS = 1_000
// A provider that sees many logins from one address at once may take them for an attack.
const STAGGER_MS = 250
// From so many on a node takes half as many in the same time as one that has none.
const MANY = 8

/**
 * Fetches from those of the offered accounts whose lease it can have, one opened after the other, and no longer from those
 * that are not offered any more.
 */
export async function followAccounts(deps: Deps): Promise<void> {
  const { ended, log, tempo = USUAL_TEMPO } = deps
  /** Also those about to be closed: none is opened again before that. */
  const ours = new Map<number, { end: AbortController; done: Promise<void> }>()
  /** Somebody else's, and when they are asked for again. */
  const others = new Map<number, number>()

  async function take(account: OfferedAccount): Promise<void> {
    const { id } = account
    const lease = await takeLease(deps, `account ${id}`)
    if (!lease) {
      others.set(id, performance.now() + tempo.retry)
      return
    }
    others.delete(id)
    const end = new AbortController()
    const done = lease
      .during((stop) => fetchFrom(deps, account, stop), end.signal)
      .catch((error: unknown) => {
        logFault(log, error, 'an account did not open or close; tried again')
      })
      .finally(() => ours.delete(id))
    ours.set(id, { end, done })
    await rest(staggerMs())
  }

  /** Nodes that begin at the same time take turns; where others fetch too, one that has many lets those go first that have few. */
  const staggerMs = () =>
    others.size === 0 ? STAGGER_MS : STAGGER_MS * (1 + Math.min(ours.size / MANY, 1))

  function leave(isOffered: (id: number) => boolean): void {
    for (const [id, { end }] of ours) if (!isOffered(id)) end.abort()
    for (const id of others.keys()) if (!isOffered(id)) others.delete(id)
  }

  async function follow(): Promise<void> {
    const offered = await offeredAccounts(deps)
    leave((id) => offered.some((account) => account.id === id))
    const isDue = (id: number) => performance.now() >= (others.get(id) ?? 0)
    const free = offered.filter(({ id }) => !ours.has(id) && isDue(id))
    for (const account of free) if (!ended.aborted) await take(account)
  }
  const rest = (ms: number) => pause(ms, undefined, { signal: ended }).catch(() => {})

  while (!ended.aborted) {
    try {
      await follow()
    } catch (error) {
      logFault(log, error, 'the accounts could not be read and are read again')
    }
    await rest(LOOK_MS)
  }
  for (const { end } of ours.values()) end.abort()
  await Promise.all([...ours.values()].map(({ done }) => done))
}

async function fetchFrom(
  { open }: Pick<Deps, 'open'>,
  account: OfferedAccount,
  stop: AbortSignal,
): Promise<void> {
  const opened = open(account)
  await untilAborted(stop)
  await opened.close()
}
