import type { PageDeps } from '../http/pages/deps.ts'
import type { MailStore } from '../mail/store.ts'
import type { SeriesStore } from './series/store.ts'
import type { OperatorSessionDeps } from './session.ts'

/** What the admin API works with, besides the endpoints of other folders. */
export interface AdminDeps extends PageDeps {
  store: MailStore & SeriesStore
  shop: OperatorSessionDeps['shop']
  /** Problems the operator should know about that do not stop the service. */
  warnings(): Promise<string[]>
}
