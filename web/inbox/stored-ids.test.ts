import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { parseIds, withIds } from './stored-ids.ts'

const ANN = 'ann@box.test'
const BOB = 'bob@box.test'

describe('marks that were kept', () => {
  for (const [name, text, marks] of [
    ['are none at first', undefined, {}],
    ['are ids by address', '{"ann@box.test":[3,1]}', { [ANN]: [3, 1] }],
    ['are none when they are broken', '{"ann', {}],
    ['are none when they are something else', '[[1]]', {}],
    [
      'are only what is an id',
      '{"ann@box.test":[3,"x",1.5,null],"bob@box.test":7}',
      { [ANN]: [3] },
    ],
  ] as const) {
    test(name, () => assert.deepEqual(parseIds(text), marks))
  }
})

test('a message that is read twice has one mark', () => {
  const once = withIds({}, { email: ANN, ids: [5] }, [ANN])
  assert.deepEqual(withIds(once, { email: ANN, ids: [5, 6] }, [ANN]), { [ANN]: [5, 6] })
})

test('the marks of an address that the browser has forgotten go with it', () => {
  const marks = { [BOB]: [1], 'old@box.test': [2] }
  assert.deepEqual(withIds(marks, { email: ANN, ids: [3] }, [ANN, BOB]), {
    [ANN]: [3],
    [BOB]: [1],
  })
})

test('there are never more marks than a mailbox has messages; the oldest go', () => {
  const ids = Array.from({ length: 1_200 }, (_, index) => index)
  const kept = withIds({}, { email: ANN, ids }, [ANN])[ANN]
  assert.equal(kept?.length, 1_000)
  assert.equal(kept?.[0], 200)
})
