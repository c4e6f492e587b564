import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { matches } from './search.ts'

const MESSAGE = {
  id: 1,
  sender_name: 'Café Zürich',
  sender_email: 'news@cafe.example',
  subject: 'Ihr Code für heute',
  code: 'AB12CD',
  received_at: '2026-03-01 12:00:00',
  received_at_iso: '2026-03-01T12:00:00Z',
}

describe('a search finds', () => {
  for (const [name, query, found] of [
    ['by the name of the sender', 'zürich', true],
    ['without accents and case', 'CAFE zurich', true],
    ['by the address', 'cafe.example', true],
    ['by the subject', 'für', true],
    ['by the code', 'ab12', true],
    ['words of several places, in any order', 'code zürich', true],
    ['nothing when one word is missing', 'code paris', false],
    ['nothing across two places', 'zürichnews', false],
    ['everything by spaces', '  ', true],
  ] as const) {
    test(name, () => assert.equal(matches(MESSAGE, query), found))
  }

  test('a message without a code is not found by "null"', () => {
    assert.equal(matches({ ...MESSAGE, code: null }, 'null'), false)
  })
})
