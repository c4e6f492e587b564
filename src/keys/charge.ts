import { Problem, StoreUnavailable } from '../base/problem.ts'
import { type Caller, type KeyAuthDeps, reauthenticateKey } from './authenticate-key.ts'
import type { ApiKey } from './rules.ts'
import type { ChargedKey } from './store.ts'

// Between a refused charge and reading the key, a new day may begin or a request may be refunded.
const ATTEMPTS = 3

/**
 * Charges one request, then runs the operation, and refunds it if that fails. It is charged first, so that a key never gets more
 * than its plan: a crash in between costs a request.
 */
export async function withCharge<T>(
  deps: KeyAuthDeps,
  { key, caller }: { key: ApiKey; caller: Caller },
  operation: () => Promise<T>,
): Promise<T> {
  const charged = await chargeRequest(deps, key, caller)
  try {
    return await operation()
  } catch (error) {
    await refund(deps, { charged, caller }).catch((failure: unknown) => {
      // Whether the refund was committed is unknown, and a retry could refund twice.
      if (failure instanceof StoreUnavailable) throw error
      throw new AggregateError([error, failure], 'a failed request was not refunded', {
        cause: error,
      })
    })
    throw error
  }
}

async function refund(
  { shop, now }: KeyAuthDeps,
  { charged, caller }: { charged: ChargedKey; caller: Caller },
): Promise<void> {
  await shop.refundRequest(charged.id, charged)
  const left = await shop.readKey(charged.id, now())
  if (left) caller.seen(left)
}

async function chargeRequest(
  deps: KeyAuthDeps,
  { id }: ApiKey,
  caller: Caller,
): Promise<ChargedKey> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const charged = await deps.shop.chargeRequest(id, deps.now())
    if (charged) {
      caller.seen(charged)
      return charged
    }
    // Another request was faster. This throws the reason, or passes if there is quota again.
    await reauthenticateKey(deps, caller)
  }
  throw new Problem('overloaded', 'Too many concurrent requests for this key.', 1)
}
