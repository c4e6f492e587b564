import { describe, expect, test } from 'vitest'
import type { MessageSummary } from '../site/api.ts'
import {
  arrivals,
  EMPTY_LIST,
  highlighted,
  MAX_LISTED,
  type MessageList,
  matchesQuery,
  parseDeletions,
  parseIds,
  withIds,
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
  ids.reduce((list, id) => withMessage(list, message(id)), EMPTY_LIST)
const ids = ({ rows }: MessageList) => rows.map(({ id }) => id)

describe('an added message', () => {
  for (const [name, before, id, after] of [
    ['is the first of an empty list', [], 5, [5]],
    ['goes above older ones', [3, 1], 5, [5, 3, 1]],
    ['goes below newer ones if its event is late', [9, 7, 1], 5, [9, 7, 5, 1]],
    ['is last if it is the oldest', [9, 7], 5, [9, 7, 5]],
    ['is listed once if its event is repeated', [9, 5, 1], 5, [9, 5, 1]],
  ] as const) {
    test(name, () => expect(ids(withMessage(listed(...before), message(id)))).toStrictEqual(after))
  }

  test('does not come back after it was deleted', () => {
    const without5 = without(listed(9, 5), { ids: [5] })
    expect(ids(withMessage(without5, message(5)))).toStrictEqual([9])
    expect(ids(withSnapshot(without5, [message(9), message(5)], NONE))).toStrictEqual([9])
  })

  for (const [name, deletion] of [
    ['by its id', { ids: [5, 3] }],
    ['with all up to an id', { ids: [], upToId: 5 }],
  ] as const) {
    test(`is never listed if it was deleted ${name} before the first list arrived`, () => {
      const empty = without(EMPTY_LIST, deletion)
      const late = [message(9), message(5), message(3)]
      expect(ids(withSnapshot(empty, late, NONE))).toStrictEqual([9])
      expect(ids(withMessage(empty, message(5)))).toStrictEqual([])
      const again = without(empty, { ids: [], upToId: 1 })
      expect(ids(withSnapshot(again, late, NONE))).toStrictEqual([9])
    })
  }

  test('is replaced by an update', () => {
    const { rows } = withUpdate(listed(9, 5), message(5, 'new subject'))
    expect(rows.map(({ subject }) => subject)).toStrictEqual(['mail 9', 'new subject'])
  })

  test('is not added by an update', () => {
    expect(ids(withUpdate(listed(9), message(5)))).toStrictEqual([9])
  })
})

describe('a snapshot', () => {
  test('removes messages that it lacks and adds new ones', () => {
    expect(ids(withSnapshot(listed(9, 5, 3), [message(11), message(9)], NONE))).toStrictEqual([
      11, 9,
    ])
  })

  test('does not remove messages added since it was requested', () => {
    const after = withSnapshot(listed(12, 9, 5), [message(9)], new Set([12]))
    expect(ids(after)).toStrictEqual([12, 9])
  })

  test('does not overwrite a message that was updated since it was requested', () => {
    const before = withUpdate(listed(9, 5), message(5, 'new subject'))
    const { rows } = withSnapshot(before, [message(9, 'also new'), message(5)], new Set([5]))
    expect(rows.map(({ subject }) => subject)).toStrictEqual(['also new', 'new subject'])
  })

  test('older than another one does not bring back what that one removed', () => {
    const newer = withSnapshot(listed(9, 5), [message(9)], NONE)
    expect(ids(withSnapshot(newer, [message(9), message(5)], NONE))).toStrictEqual([9])
  })

  test('that is truncated says nothing about older messages', () => {
    const list = Array.from({ length: MAX_LISTED }, (_, index) => message(1_000 - index))
    const after = withSnapshot(listed(7), list, NONE)
    expect(after.rows.length).toBe(MAX_LISTED)
    expect(ids(withMessage(after, message(7))).at(-1)).toStrictEqual(7)
  })

  test('keeps the object of an unchanged row', () => {
    const before = listed(9, 5)
    const { rows } = withSnapshot(before, [message(9), message(5, 'new subject')], NONE)
    expect(rows[0]).toBe(before.rows[0])
    expect(rows[1]?.subject).toBe('new subject')
  })

  for (const [name, length, truncated] of [
    ['of the maximum length is truncated', MAX_LISTED, true],
    ['below the maximum length is complete', MAX_LISTED - 1, false],
  ] as const) {
    test(name, () => {
      const list = Array.from({ length }, (_, index) => message(length - index))
      expect(withSnapshot(EMPTY_LIST, list, NONE).truncated).toBe(truncated)
    })
  }
})

test('arrivals are messages newer than any seen before', () => {
  const arrived = arrivals(listed(5, 3), listed(9, 7, 5, 4, 3))
  expect(arrived.map(({ id }) => id)).toStrictEqual([9, 7])
  expect(arrivals(listed(5, 3), listed(3))).toStrictEqual([])
  expect(arrivals(without(listed(9, 3), { ids: [9, 3] }), listed(7))).toStrictEqual([])
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

describe('a search', () => {
  for (const [name, query, found] of [
    ['matches the name of the sender', 'zürich', true],
    ['ignores accents and case', 'CAFE zurich', true],
    ['matches the address', 'cafe.example', true],
    ['matches the subject', 'für', true],
    ['matches the code', 'ab12', true],
    ['matches words of several fields, in any order', 'code zürich', true],
    ['needs every word', 'code paris', false],
    ['does not match across two fields', 'zürichnews', false],
    ['for spaces matches everything', '  ', true],
  ] as const) {
    test(name, () => expect(matchesQuery(MESSAGE, query)).toBe(found))
  }

  test('for "null" does not match a missing code', () => {
    expect(matchesQuery({ ...MESSAGE, code: null }, 'null')).toBe(false)
  })
})

const ANN = 'ann@box.test'
const BOB = 'bob@box.test'

describe('stored ids', () => {
  for (const [name, text, ids] of [
    ['are empty at first', undefined, {}],
    ['are ids by address', '{"ann@box.test":[3,1]}', { [ANN]: [3, 1] }],
    ['are empty if the JSON is invalid', '{"ann', {}],
    ['are empty if the value is not an object', '[[1]]', {}],
    [
      'leave out whatever is not an id',
      '{"ann@box.test":[3,"x",1.5,null],"bob@box.test":7}',
      { [ANN]: [3] },
    ],
  ] as const) {
    test(name, () => expect(parseIds(text)).toStrictEqual(ids))
  }
})

describe('stored deletions', () => {
  const mailboxes = [
    { email: ANN, token: 'a' },
    { email: BOB, token: 'b' },
  ]
  for (const [name, text, textOfAll, deletions] of [
    ['are empty at first', undefined, undefined, []],
    ['are empty if the JSON is invalid', '[{', '{', []],
    [
      'are ids of a mailbox, or all up to an id',
      '[{"token":"a","ids":[3,1]},{"token":"b","ids":[],"upToId":7}]',
      undefined,
      [
        { token: 'a', ids: [3, 1] },
        { token: 'b', ids: [], upToId: 7 },
      ],
    ],
    [
      'leave out addresses that this browser no longer has, and whatever is not a deletion',
      '[{"token":"c","ids":[3]},null,5,{"ids":[3]},{"token":"a"},{"token":"a","ids":["x"]},' +
        '{"token":"b","ids":[3],"upToId":"7"},{"token":"b","ids":[],"upToId":1.5}]',
      '[7]',
      [],
    ],
    [
      'of version 0.3 are ids by address',
      '{"ann@box.test":[3,1],"old@box.test":[2]}',
      '{"bob@box.test":[7],"old@box.test":[9]}',
      [
        { token: 'a', ids: [3, 1] },
        { token: 'b', ids: [], upToId: 7 },
      ],
    ],
  ] as const) {
    test(name, () => expect(parseDeletions(text, textOfAll, mailboxes)).toStrictEqual(deletions))
  }
})

test('an id is stored once', () => {
  const once = withIds({}, { email: ANN, ids: [5] }, [ANN])
  expect(withIds(once, { email: ANN, ids: [5, 6] }, [ANN])).toStrictEqual({ [ANN]: [5, 6] })
})

test('ids of removed addresses are dropped', () => {
  const before = { [BOB]: [1], 'old@box.test': [2] }
  expect(withIds(before, { email: ANN, ids: [3] }, [ANN, BOB])).toStrictEqual({
    [ANN]: [3],
    [BOB]: [1],
  })
})

test('past the limit the oldest ids are dropped', () => {
  const ids = Array.from({ length: 1_200 }, (_, index) => index)
  const stored = withIds({}, { email: ANN, ids }, [ANN])[ANN]
  expect(stored?.length).toBe(1_000)
  expect(stored?.[0]).toBe(200)
})

describe('words of a search', () => {
  for (const [name, text, query, pieces] of [
    ['are highlighted', 'Your receipt', 'RECEIPT', ['Your ', 'receipt', '']],
    ['are found without accents', 'Café crème', 'cafe creme', ['', 'Café', ' ', 'crème', '']],
    ['keep combining marks', 'Cafe\u0301 x', 'cafe', ['', 'Cafe\u0301', ' x']],
    ['may be longer when folded', '\ufb01nd it', 'fin', ['', '\ufb01n', 'd it']],
    ['may overlap', 'banana', 'ana nab', ['b', 'anana', '']],
    ['may follow each other', 'abcd', 'ab cd', ['', 'abcd', '']],
    ['need not occur', 'Hello', 'x', ['Hello']],
    ['may be none', 'Hello', ' ', ['Hello']],
    ['may be next to an emoji', '👋 hi', 'hi', ['👋 ', 'hi', '']],
  ] as const) {
    test(name, () => {
      expect(highlighted(text, query)).toStrictEqual(pieces)
      expect(highlighted(text, query).join('')).toBe(text)
    })
  }
})
