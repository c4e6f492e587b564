import type { MailRouteDeps } from '../mail/deps.ts'
import type { SharedPolls } from '../mail/list/shared-poll.ts'
import type { Plan } from '../shared/plan.ts'
import type { KeyView, PoolAccess } from './emails/emails.ts'
import type { DomainUsageOf } from './rules.ts'
import type { KeyStore } from './store.ts'

/** What the endpoints of keys work with. */
export interface KeyRouteDeps extends MailRouteDeps {
  shop: KeyStore
  testKeys: boolean
  plans: readonly Plan[]
  poolAccess: PoolAccess
  keyPolls: SharedPolls<KeyView>
  domainUsage: DomainUsageOf
}
