import { expect, test } from 'vitest'
import { type SessionRow, sessionOf } from '../mail/store-rows.ts'

const ROW: SessionRow = {
  id: 7 as SessionRow['id'],
  address: 'ann@box.test' as SessionRow['address'],
  token_hash: 'hash',
  key_id: null,
  account_id: null,
  created_at: 0,
  expires_at: 1,
  version: 4,
  codes: 1,
  last_id: 1_000,
  count: 4,
  bytes: 400,
  cleared: false,
  only_from: null,
  max_messages: null,
  received: 4,
  label: null,
  own_domain: null,
  refused: 0,
}

test('the version is new if the last mail was lost and another one arrived', () => {
  const before = sessionOf(ROW).version
  const rolledBack = { ...ROW, version: 3, last_id: 900 }
  const after = sessionOf({ ...rolledBack, version: 4, last_id: 1_600 }).version
  expect(after).not.toBe(before)
})
