import { describe } from 'vitest'
import { scratchMail, scratchShop } from '../../../test/scratch.ts'
import { mailStoreContract } from '../mail.contract.ts'
import { shopStoreContract } from '../shop.contract.ts'

describe('mail on SQLite', () => mailStoreContract(scratchMail))
describe('the shop on SQLite', () => shopStoreContract(scratchShop))
