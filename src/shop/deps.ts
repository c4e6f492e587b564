import type { Log } from '../base/log/log.ts'
import type { AsyncMethods } from '../base/operation.ts'
import type { PageDeps } from '../http/pages/deps.ts'
import type { InstallationStore } from '../keys/installation-store.ts'
import type { KeyStore } from '../keys/store.ts'
import type { Plan } from '../shared/plan.ts'
import type { PaymentProvider } from './pay/provider.ts'
import type { purchaseReads, purchaseWrites } from './purchase-store.ts'
import type { settlementTransactions } from './settlement-store.ts'

export interface PurchaseStore
  extends AsyncMethods<
    typeof purchaseReads & typeof purchaseWrites & typeof settlementTransactions
  > {}

/** What the use cases of the shop work with. */
export interface ShopDeps {
  shop: KeyStore & InstallationStore & PurchaseStore
  pay: PaymentProvider
  plans: readonly Plan[]
  log: Pick<Log, 'warn' | 'error'>
  now(): Date
  randomBytes(count: number): Uint8Array
}

/** What its endpoints and pages work with. */
export interface ShopRouteDeps extends PageDeps, Omit<ShopDeps, keyof PageDeps> {}
