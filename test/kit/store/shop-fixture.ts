import type { CreatedPage } from '../../../src/base/operation.ts'
import type { NewKey } from '../../../src/keys/store.ts'
import { PLANS, type Plan } from '../../../src/shared/plan.ts'
import type { NewOrder } from '../../../src/shop/store.ts'
import type { ShopStore } from '../../../src/store/store.ts'

export interface OpenShopStore {
  store: ShopStore
  close(): Promise<void>
}

export const NOON = new Date('2026-03-01T12:00:00Z')
export const DAY = 86_400_000
export const later = (ms: number) => new Date(NOON.getTime() + ms)

export const [starter, business] = PLANS as readonly [Plan, Plan]

export const KEY: NewKey = {
  id: 'k1',
  prefix: 'mf_live_abcd',
  secretHash: 'secret-hash',
  plan: 'starter',
  label: 'mine',
  maxRequests: 10,
  maxPerDay: undefined,
  maxDomains: 1,
  createdAt: NOON,
  expiresAt: undefined,
}

export const ORDER: NewOrder = {
  id: 'o1',
  provider: 'fake',
  mode: 'test',
  plan: starter,
  email: undefined,
  createdAt: NOON,
  keyId: 'k1',
  keyPrefix: 'mf_test_abcd',
  claimHash: 'claim',
  idempotencyHash: undefined,
}

/** The ids of each page, up to the first that is not full. */
export async function pagesOf(
  read: (page: CreatedPage) => Promise<{ id: string; createdAt: Date }[]>,
  limit = 2,
): Promise<string[][]> {
  const pages: string[][] = []
  let before: CreatedPage['before']
  do {
    const entries = await read({ limit, before })
    pages.push(entries.map(({ id }) => id))
    before = entries.length < limit ? undefined : entries.at(-1)
  } while (before)
  return pages
}
