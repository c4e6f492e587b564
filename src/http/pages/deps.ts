import type { MailRouteDeps } from '../../mail/deps.ts'
import type { BuiltPage } from './assets.ts'

/** What pages work with. */
export interface PageDeps extends MailRouteDeps {
  builtPage: BuiltPage
  /** Whether plans are sold online. Otherwise the operator issues keys. */
  shopOpen: boolean
  /** Whether key holders may receive mail at their own domains. */
  ownDomains: boolean
  /** How long mail to permanent addresses there is kept. */
  ownMailSeconds: number
  /** Whether receipts are mailed. */
  receipts: boolean
  /** The mode of the MTA-STS policy of our domains. */
  mtaSts: 'off' | 'testing' | 'enforce'
}
