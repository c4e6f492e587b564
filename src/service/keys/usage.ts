import type { ApiKey } from '../../core/key.ts'
import { nextDay, type Refusal, refusal } from '../../core/quota.ts'
import type { ShopStore, UsageDay } from '../../store/shop-store.ts'
import { keyUsage } from './keys.ts'

export interface UsageDeps {
  shop: Pick<ShopStore, 'readUsage'>
  now(): Date
}

interface Usage {
  /** Why a request would be refused at this moment, or that it would not be. */
  state: 'active' | 'stopped' | Refusal
  /** When the count of the day begins anew. */
  resetsAt: Date
  /** The last 30 UTC days, today being the last. */
  days: UsageDay[]
}

/** What became of a key so far. Free, and open to keys that are used up or over. */
export async function usageOf({ shop, now }: UsageDeps, key: ApiKey): Promise<Usage> {
  const time = now()
  return {
    state: key.state === 'stopped' ? 'stopped' : (refusal(key, time) ?? 'active'),
    resetsAt: nextDay(time),
    days: await keyUsage({ store: shop, now: () => time }, key.id),
  }
}
