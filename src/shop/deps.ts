import type { Log } from '../base/log/log.ts'
import type { PageDeps } from '../http/pages/deps.ts'
import type { InstallationStore } from '../keys/installation-store.ts'
import type { KeyStore } from '../keys/store.ts'
import type { Plan } from '../shared/plan.ts'
import type { PaymentProvider } from './pay/provider.ts'
import type { OrderStore } from './store.ts'

/** What the use cases of the shop work with. */
export interface ShopDeps {
  shop: KeyStore & InstallationStore & OrderStore
  pay: PaymentProvider
  plans: readonly Plan[]
  log: Pick<Log, 'warn' | 'error'>
  now(): Date
  randomBytes(count: number): Uint8Array
}

/** What its endpoints and pages work with. */
export interface ShopRouteDeps extends PageDeps, Omit<ShopDeps, keyof PageDeps> {}
