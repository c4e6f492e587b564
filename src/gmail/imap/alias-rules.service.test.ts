import { afterEach, beforeEach, expect, test } from 'vitest'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import { parseRules } from '../../shared/address-rules.ts'
import { dovecotForTests, folderContents } from './testing/dovecot-account.ts'
import { ANN } from './testing/fixture.ts'
import { openStoredAccount, type StoredAccount } from './testing/stored-account.ts'

const dovecot = dovecotForTests()
const STRICT = 'ann+strict@mail.test'
const ONCE = 'ann+once@mail.test'

let account: StoredAccount
beforeEach(async () => {
  account = await openStoredAccount(10)
})
afterEach(() => account.close())

const deliver = (body: string, to: string, from: string) =>
  dovecot
    .server()
    .deliver(
      ANN,
      `From: ${from}\r\nTo: ${to}\r\nMessage-ID: <${body}@elsewhere.test>\r\n\r\n${body}\r\n`,
    )

test('mail that the rules of its aliases refuse is settled: not stored, and removed like fetched mail', async () => {
  const strict = await account.alias(STRICT, parseRules({ only_from: 'shop.test' }))
  const once = await account.alias(ONCE, parseRules({ max_messages: 1 }))
  await account.connect(dovecot.server().port, { deleteAfterFetch: true })
  deliver('one', `${STRICT}, ${ONCE}`, 'eve@other.test')
  deliver('two', `${STRICT}, ${ONCE}`, 'eve@other.test')
  deliver('three', `${STRICT}, ${ONCE}`, 'ann@mail.shop.test')
  deliver('last', STRICT, 'ann@shop.test')
  account.requestPoll()
  await account.untilBodies(strict, ['three', 'last'])
  expect(await account.bodies(once)).toEqual(['one'])
  await waitUntil(async () => (await folderContents(dovecot.server().port)).INBOX.length === 0)
})
