import type { ApiKey } from '../core/key.ts'
import { Problem } from '../core/problem.ts'
import type { ShopStore } from '../store/store.ts'
import { type AdmitNeeds, admitAgain, type Caller } from './admit.ts'

export interface ChargeNeeds extends AdmitNeeds {
  shop: Pick<ShopStore, 'findKey' | 'readKey' | 'spendRequest' | 'returnRequest'>
}

// Between a refused spend and the look at the key a day may begin, or somebody may give a request back.
const ATTEMPTS = 3

/**
 * Takes one request of the key, then does the deed. If that fails the request is given back. It is taken first, so that
 * nobody ever gets more than the plan has: a process that dies in between has charged for what nobody saw.
 */
export async function charge<T>(
  needs: ChargeNeeds,
  { key, caller }: { key: ApiKey; caller: Caller },
  deed: () => Promise<T>,
): Promise<T> {
  const spentAt = await spend(needs, key, caller)
  try {
    return await deed()
  } catch (error) {
    await needs.shop.returnRequest(key.id, spentAt)
    const now = await needs.shop.readKey(key.id, needs.now())
    if (now) caller.seen(now)
    throw error
  }
}

async function spend(needs: ChargeNeeds, { id }: ApiKey, caller: Caller): Promise<Date> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const spentAt = needs.now()
    const spent = await needs.shop.spendRequest(id, spentAt)
    if (spent) {
      caller.seen(spent)
      return spentAt
    }
    // It looked fine a moment ago: somebody was quicker. This tells why, or that it is fine after all.
    await admitAgain(needs, caller)
  }
  throw new Problem('overloaded', 'This key is much in use at the moment.', 1)
}
