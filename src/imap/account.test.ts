import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Dovecot, openDovecot } from '../../test/dovecot.ts'
import { openAccount } from './account.ts'
import { ANN, PASSWORD, testAccountAt } from './testing/account.ts'
import { mailText, testHouse } from './testing/house.ts'

let dovecot: Dovecot
let close = async () => {}

beforeAll(async () => {
  dovecot = await openDovecot({ users: { [ANN]: PASSWORD } })
})
afterEach(() => close())
afterAll(() => dovecot.close())

function openHouse(aliases: string[], changes = {}) {
  const house = testHouse(aliases)
  const account = openAccount(house.needs, testAccountAt(dovecot.port, changes))
  close = account.close
  return house
}

describe('mail that comes while we are there', () => {
  for (const [name, fields, expected] of [
    ['to a plus form', { To: 'ann+tag@mail.test' }, ['ann+tag@mail.test']],
    ['to a dot form', { To: 'a.nn@mail.test' }, ['a.nn@mail.test']],
    ['to nobody in its To', { 'Delivered-To': 'ann+tag@mail.test' }, ['ann+tag@mail.test']],
  ] as const) {
    test(name, async () => {
      const house = openHouse(['ann+tag@mail.test', 'a.nn@mail.test'])
      await house.untilHealth('ok')
      dovecot.deliver(ANN, mailText(fields))
      await house.untilMails(1)
      expect(house.mails.map(({ address }) => address)).toEqual(expected)
    })
  }
})
