import { describe } from 'vitest'
import { scratchMail, scratchShop } from '../../../test/scratch.ts'
import { accountsContract } from '../contract/accounts.contract.ts'
import { codesContract } from '../contract/codes.contract.ts'
import { deferredContract } from '../contract/deferred.contract.ts'
import { keysContract } from '../contract/keys.contract.ts'
import { leasesContract } from '../contract/leases.contract.ts'
import { messagesContract } from '../contract/messages.contract.ts'
import { operatorContract } from '../contract/operator.contract.ts'
import { purchasesContract } from '../contract/purchases.contract.ts'
import { recipientsContract } from '../contract/recipients.contract.ts'
import { sessionsContract } from '../contract/sessions.contract.ts'
import { shopkeepingContract } from '../contract/shopkeeping.contract.ts'

// Each in a part of its own: a contract opens its store before every test of the part that it stands in.
describe('SQLite', () => {
  describe('sessions', () => sessionsContract(scratchMail))
  describe('messages', () => messagesContract(scratchMail))
  describe('codes', () => codesContract(scratchMail))
  describe('recipients', () => recipientsContract(scratchMail))
  describe('accounts', () => accountsContract(scratchMail))
  describe('deferred mail', () => deferredContract(scratchMail))
  describe('leases', () => leasesContract(scratchMail))
  describe('operator', () => operatorContract(scratchMail))
  describe('keys', () => keysContract(scratchShop))
  describe('purchases', () => purchasesContract(scratchShop))
  describe('shopkeeping', () => shopkeepingContract(scratchShop))
})
