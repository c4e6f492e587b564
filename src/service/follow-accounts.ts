import { setTimeout as pause } from 'node:timers/promises'
import { asError } from '../core/fault.ts'
import type { Log } from '../core/log.ts'
import { type AccountsNeeds, type OfferedAccount, offeredAccounts } from './accounts.ts'

interface Needs extends AccountsNeeds {
  /** Begins to fetch from an account; the answer ends it. */
  open(account: OfferedAccount): { close(): Promise<void> }
  ended: AbortSignal
  log: Pick<Log, 'error'>
}

// Within this an operator's switch counts.
const LOOK_MS = 1_000
// A provider that sees many logins from one address at once may take them for an attack.
const STAGGER_MS = 250

/** Fetches from the accounts that are offered, one opened after the other, and no longer from those that are not. */
export async function followAccounts(needs: Needs): Promise<void> {
  const { open, ended, log } = needs
  const opened = new Map<number, { close(): Promise<void> }>()
  // Nobody waits for one that takes its time: but it is not opened again before it is closed.
  const closing = new Map<number, Promise<void>>()

  function close(id: number, account: { close(): Promise<void> }): void {
    opened.delete(id)
    const closed = account.close().catch((error: unknown) => {
      log.error({ err: asError(error) }, 'an account did not close')
    })
    closing.set(
      id,
      closed.finally(() => closing.delete(id)),
    )
  }

  async function follow(): Promise<void> {
    const offered = await offeredAccounts(needs)
    const ids = new Set(offered.map(({ id }) => id))
    for (const [id, account] of opened) if (!ids.has(id)) close(id, account)
    for (const account of offered) {
      if (opened.has(account.id) || closing.has(account.id) || ended.aborted) continue
      opened.set(account.id, open(account))
      await rest(STAGGER_MS)
    }
  }
  const rest = (ms: number) => pause(ms, undefined, { signal: ended }).catch(() => {})

  while (!ended.aborted) {
    try {
      await follow()
    } catch (error) {
      log.error({ err: asError(error) }, 'the accounts could not be read and are read again')
    }
    await rest(LOOK_MS)
  }
  for (const [id, account] of opened) close(id, account)
  await Promise.all(closing.values())
}
