import { describe } from 'vitest'
import { scratchMail, scratchShop } from '../../../test/scratch.ts'
import { accountsContract } from '../contract/accounts.contract.ts'
import { keysContract } from '../contract/keys.contract.ts'
import { messagesContract } from '../contract/messages.contract.ts'
import { purchasesContract } from '../contract/purchases.contract.ts'
import { recipientsContract } from '../contract/recipients.contract.ts'
import { sessionsContract } from '../contract/sessions.contract.ts'

describe('SQLite', () => {
  sessionsContract(scratchMail)
  messagesContract(scratchMail)
  recipientsContract(scratchMail)
  accountsContract(scratchMail)
  keysContract(scratchShop)
  purchasesContract(scratchShop)
})
