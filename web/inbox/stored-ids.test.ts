import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { parseIds, withIds } from './stored-ids.ts'

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
    test(name, () => assert.deepEqual(parseIds(text), ids))
  }
})

test('an id is stored once', () => {
  const once = withIds({}, { email: ANN, ids: [5] }, [ANN])
  assert.deepEqual(withIds(once, { email: ANN, ids: [5, 6] }, [ANN]), { [ANN]: [5, 6] })
})

test('ids of removed addresses are dropped', () => {
  const before = { [BOB]: [1], 'old@box.test': [2] }
  assert.deepEqual(withIds(before, { email: ANN, ids: [3] }, [ANN, BOB]), {
    [ANN]: [3],
    [BOB]: [1],
  })
})

test('past the limit the oldest ids are dropped', () => {
  const ids = Array.from({ length: 1_200 }, (_, index) => index)
  const stored = withIds({}, { email: ANN, ids }, [ANN])[ANN]
  assert.equal(stored?.length, 1_000)
  assert.equal(stored?.[0], 200)
})
