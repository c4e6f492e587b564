import { describe } from 'vitest'
import type { OpenMailStore } from '../../../test/kit/store/fixture.ts'
import type { OpenShopStore } from '../../../test/kit/store/shop-fixture.ts'
import { accountsContract } from './accounts.contract.ts'
import { blocksContract } from './blocks.contract.ts'
import { codesContract } from './codes.contract.ts'
import { deferredContract } from './deferred.contract.ts'
import { doorsContract } from './doors.contract.ts'
import { keptAddressesContract } from './kept-addresses.contract.ts'
import { keyMailContract } from './key-mail.contract.ts'
import { keyMailOrderContract } from './key-mail-order.contract.ts'
import { keyMailVersionContract } from './key-mail-version.contract.ts'
import { keysContract } from './keys.contract.ts'
import { leasesContract } from './leases.contract.ts'
import { ledgerContract } from './ledger.contract.ts'
import type { OpenLedgerStore } from './ledger-fixture.ts'
import { mailLogContract } from './mail-log.contract.ts'
import { messagesContract } from './messages.contract.ts'
import { operatorContract } from './operator.contract.ts'
import { ordersContract } from './orders.contract.ts'
import { ownDomainsContract } from './own-domains.contract.ts'
import { ownMailContract } from './own-mail.contract.ts'
import { ownSessionsContract } from './own-sessions.contract.ts'
import { recipientsContract } from './recipients.contract.ts'
import { rulesContract } from './rules.contract.ts'
import { seriesContract } from './series.contract.ts'
import { sessionsContract } from './sessions.contract.ts'
import { type OpenShareStore, sharesContract } from './shares.contract.ts'
import { shopMaintenanceContract } from './shop-maintenance.contract.ts'
import { tlsContract } from './tls.contract.ts'
import { unknownLedgerContract } from './unknown-ledger.contract.ts'
import { webhookChargesContract } from './webhook-charges.contract.ts'
import { webhooksContract } from './webhooks.contract.ts'
import { wildcardsContract } from './wildcards.contract.ts'

/** How the contracts open a new, empty store. */
interface Engine {
  mail(): Promise<OpenMailStore>
  /** With SHARE_LIMITS. */
  shares(): Promise<OpenShareStore>
  ledgers(): Promise<OpenLedgerStore>
  shop(): Promise<OpenShopStore>
  /** How many random sequences of operations a contract runs. */
  runs: number
}

const CONTRACTS: Readonly<Record<string, (engine: Engine) => void>> = {
  sessions: ({ mail }) => sessionsContract(mail),
  messages: ({ mail }) => messagesContract(mail),
  codes: ({ mail }) => codesContract(mail),
  recipients: ({ mail }) => recipientsContract(mail),
  'wildcard domains': ({ mail }) => wildcardsContract(mail),
  'domains of keys': ({ mail }) => ownDomainsContract(mail),
  'mail at domains of keys': ({ mail }) => ownMailContract(mail),
  'sessions at domains of keys': ({ mail }) => ownSessionsContract(mail),
  'addresses that are kept': ({ mail }) => keptAddressesContract(mail),
  doors: ({ mail }) => doorsContract(mail),
  'rules of an address': ({ mail }) => rulesContract(mail),
  shares: ({ shares, runs }) => sharesContract(shares, runs),
  accounts: ({ mail }) => accountsContract(mail),
  'deferred mail': ({ mail }) => deferredContract(mail),
  ledger: ({ ledgers }) => ledgerContract(ledgers),
  'unknown ledger': ({ ledgers }) => unknownLedgerContract(ledgers),
  leases: ({ mail }) => leasesContract(mail),
  operator: ({ mail }) => operatorContract(mail),
  'mail log': ({ mail }) => mailLogContract(mail),
  series: ({ shares }) => seriesContract(shares),
  certificates: ({ mail }) => tlsContract(mail),
  'block list': ({ mail }) => blocksContract(mail),
  'mail visible to a key': ({ mail }) => keyMailContract(mail),
  'version of the mail of a key': ({ mail, runs }) => keyMailVersionContract(mail, runs),
  'order of the mail of a key': ({ mail }) => keyMailOrderContract(mail),
  keys: ({ shop }) => keysContract(shop),
  orders: ({ shop }) => ordersContract(shop),
  'shop maintenance': ({ shop }) => shopMaintenanceContract(shop),
  webhooks: ({ shop }) => webhooksContract(shop),
  'charges of webhooks': ({ shop }) => webhookChargesContract(shop),
}

/** Runs all contracts, each in a describe of its own: a contract opens its store before every test of the one it is called in. */
export function storeContracts(engine: Engine): void {
  for (const [name, contract] of Object.entries(CONTRACTS)) describe(name, () => contract(engine))
}
