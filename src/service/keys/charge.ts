import type { ApiKey } from '../../core/key.ts'
import { Problem, StoreUnavailable } from '../../core/problem.ts'
import type { ShopStore, Spent } from '../../store/shop-store.ts'
import { type Caller, type KeyAuthDeps, reauthenticateKey } from './authenticate-key.ts'

export interface ChargeDeps extends KeyAuthDeps {
  shop: Pick<ShopStore, 'findKey' | 'readKey' | 'spendRequest' | 'returnRequest'>
}

// Between a refused spend and the look at the key a day may begin, or somebody may give a request back.
const ATTEMPTS = 3

/**
 * Takes one request of the key, then does the deed. If that fails the request is given back. It is taken first, so that
 * nobody ever gets more than the plan has: a process or a store that dies in between has charged for what nobody saw.
 */
export async function charge<T>(
  deps: ChargeDeps,
  { key, caller }: { key: ApiKey; caller: Caller },
  operation: () => Promise<T>,
): Promise<T> {
  const spent = await spend(deps, key, caller)
  try {
    return await operation()
  } catch (error) {
    await refund(deps, { spent, caller }).catch((failure: unknown) => {
      // It may have been given back for all we know: to try again later could give back two.
      if (failure instanceof StoreUnavailable) throw error
      throw new AggregateError([error, failure], 'a request that failed was not given back', {
        cause: error,
      })
    })
    throw error
  }
}

async function refund(
  { shop, now }: ChargeDeps,
  { spent, caller }: { spent: Spent; caller: Caller },
): Promise<void> {
  await shop.returnRequest(spent.id, spent)
  const left = await shop.readKey(spent.id, now())
  if (left) caller.seen(left)
}

async function spend(deps: ChargeDeps, { id }: ApiKey, caller: Caller): Promise<Spent> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const spent = await deps.shop.spendRequest(id, deps.now())
    if (spent) {
      caller.seen(spent)
      return spent
    }
    // It looked fine a moment ago: somebody was quicker. This tells why, or that it is fine after all.
    await reauthenticateKey(deps, caller)
  }
  throw new Problem('overloaded', 'This key is much in use at the moment.', 1)
}
