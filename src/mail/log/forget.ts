import { setTimeout as pause } from 'node:timers/promises'
import type { Address } from '../../base/address.ts'
import { addressHash } from './rules.ts'
import type { MailLogStore } from './store.ts'

/** Longer than lines wait before they are written. */
const WRITTEN_MS = 2_000

interface ForgetDeps {
  store: Pick<MailLogStore, 'forgetLogLines'>
  key: Uint8Array
  /** Until lines of a service that runs are written; tests do not wait. */
  waitMs?: number
}

/** Deletes all lines about an address, as recipient or sender; returns how many. */
export async function forgetAddress(
  { store, key, waitMs = WRITTEN_MS }: ForgetDeps,
  address: Address,
): Promise<number> {
  const hashes = [addressHash(key, 'to', address), addressHash(key, 'from', address)]
  await pause(waitMs)
  let all = 0
  for (let deleted = -1; deleted !== 0; all += deleted) deleted = await store.forgetLogLines(hashes)
  return all
}
