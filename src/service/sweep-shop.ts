import { setTimeout as pause } from 'node:timers/promises'
import { asError } from '../core/fault.ts'
import type { Log } from '../core/log.ts'
import type { ShopStore } from '../store/store.ts'

export interface SweepShopNeeds {
  shop: Pick<ShopStore, 'sweepShop'>
  now(): Date
  log: Pick<Log, 'error'>
}

// What is swept is months old: there is no hurry.
const REST_MS = 3_600_000
// Between two steps of a long sweep the writer belongs to the requests that wait.
const BREATH_MS = 5

/** Clears away what the shop need not remember, in small steps, until it is told to end. */
export async function sweepShopForEver(
  { shop, now, log }: SweepShopNeeds,
  ended: AbortSignal,
): Promise<void> {
  while (!ended.aborted) {
    let more = false
    try {
      more = await shop.sweepShop(now())
    } catch (error) {
      log.error({ err: asError(error) }, 'the sweep of the shop failed and is tried again')
    }
    await pause(more ? BREATH_MS : REST_MS, undefined, { signal: ended }).catch(() => {})
  }
}
