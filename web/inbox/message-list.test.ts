import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { MessageSummary } from '../site/api-client.ts'
import {
  arrivals,
  EMPTY_LIST,
  MAX_LISTED,
  type MessageList,
  matchesQuery,
  withMessage,
  without,
  withSnapshot,
  withUpdate,
} from './message-list.ts'

const NONE: ReadonlySet<number> = new Set()

function message(id: number, subject = `mail ${id}`): MessageSummary {
  const at = { received_at: '2026-03-01 12:00:00', received_at_iso: '2026-03-01T12:00:00Z' }
  return { id, sender_name: '', sender_email: 'a@b.test', subject, code: null, ...at }
}

const listed = (...ids: number[]): MessageList =>
  ids.reduce((listing, id) => withMessage(listing, message(id)), EMPTY_LIST)
const ids = ({ rows }: MessageList) => rows.map(({ id }) => id)

describe('a message that is told of', () => {
  for (const [name, before, id, after] of [
    ['is the first of an empty list', [], 5, [5]],
    ['stands above all that is older', [3, 1], 5, [5, 3, 1]],
    ['stands below all that is newer, when told late', [9, 7, 1], 5, [9, 7, 5, 1]],
    ['is last when it is the oldest', [9, 7], 5, [9, 7, 5]],
    ['stands there once when told twice', [9, 5, 1], 5, [9, 5, 1]],
  ] as const) {
    test(name, () => assert.deepEqual(ids(withMessage(listed(...before), message(id))), after))
  }

  test('does not come back once it is gone', () => {
    const without5 = without(listed(9, 5), new Set([5]))
    assert.deepEqual(ids(withMessage(without5, message(5))), [9])
    assert.deepEqual(ids(withSnapshot(without5, [message(9), message(5)], NONE)), [9])
  })

  test('in other words takes the place of the old ones', () => {
    const { rows } = withUpdate(listed(9, 5), message(5, 'new words'))
    assert.deepEqual(
      rows.map(({ subject }) => subject),
      ['mail 9', 'new words'],
    )
  })

  test('in other words is nothing when it is not there', () => {
    assert.deepEqual(ids(withUpdate(listed(9), message(5))), [9])
  })
})

describe('a whole list', () => {
  test('takes away what it does not name, and brings what is new', () => {
    assert.deepEqual(ids(withSnapshot(listed(9, 5, 3), [message(11), message(9)], NONE)), [11, 9])
  })

  test('takes nothing away that was told of while it was on its way', () => {
    const after = withSnapshot(listed(12, 9, 5), [message(9)], new Set([12]))
    assert.deepEqual(ids(after), [12, 9])
  })

  test('that is older than another brings back nothing the other took away', () => {
    const newer = withSnapshot(listed(9, 5), [message(9)], NONE)
    assert.deepEqual(ids(withSnapshot(newer, [message(9), message(5)], NONE)), [9])
  })

  test('that was cut says nothing of those before it', () => {
    const list = Array.from({ length: MAX_LISTED }, (_, index) => message(1_000 - index))
    const after = withSnapshot(listed(7), list, NONE)
    assert.equal(after.rows.length, MAX_LISTED)
    assert.deepEqual(ids(withMessage(after, message(7))).at(-1), 7)
  })

  test('leaves a row that says the same as it was', () => {
    const before = listed(9, 5)
    const { rows } = withSnapshot(before, [message(9), message(5, 'new words')], NONE)
    assert.equal(rows[0], before.rows[0])
    assert.equal(rows[1]?.subject, 'new words')
  })

  for (const [name, length, cut] of [
    ['that is as long as lists get was cut', MAX_LISTED, true],
    ['that is shorter is all there is', MAX_LISTED - 1, false],
  ] as const) {
    test(name, () => {
      const list = Array.from({ length }, (_, index) => message(length - index))
      assert.equal(withSnapshot(EMPTY_LIST, list, NONE).truncated, cut)
    })
  }
})

test('what has arrived is what is newer than all that was ever there', () => {
  const came = arrivals(listed(5, 3), listed(9, 7, 5, 4, 3))
  assert.deepEqual(
    came.map(({ id }) => id),
    [9, 7],
  )
  assert.deepEqual(arrivals(listed(5, 3), listed(3)), [])
  assert.deepEqual(arrivals(without(listed(9, 3), new Set([9, 3])), listed(7)), [])
})

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
    test(name, () => assert.equal(matchesQuery(MESSAGE, query), found))
  }

  test('a message without a code is not found by "null"', () => {
    assert.equal(matchesQuery({ ...MESSAGE, code: null }, 'null'), false)
  })
})
