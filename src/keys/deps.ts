import type { MailRouteDeps } from '../mail/deps.ts'
import type { SharedPolls } from '../mail/list/shared-poll.ts'
import type { Plan } from '../shared/plan.ts'
import type { KeyView, PoolAccess } from './emails/emails.ts'
import type { ApiKey } from './rules.ts'
import type { KeyStore } from './store.ts'

/** What the holder of a key should know before mail to its domains is refused. */
export interface DomainWarning {
  /** key_expires: the key itself, before it does. */
  code: 'record_missing' | 'key_stopped' | 'key_expired' | 'key_expires'
  /** Undefined: all of them. */
  domain: string | undefined
  /** When mail will be refused, or the key expires. */
  at: Date
}

/** The domains of a key, for /usage. */
export type DomainUsageOf = (
  key: ApiKey,
) => Promise<{ limit: number; used: number; warnings: readonly DomainWarning[] }>

/** What the endpoints of keys work with. */
export interface KeyRouteDeps extends MailRouteDeps {
  shop: KeyStore
  testKeys: boolean
  plans: readonly Plan[]
  poolAccess: PoolAccess
  keyPolls: SharedPolls<KeyView>
  domainUsage: DomainUsageOf
}
