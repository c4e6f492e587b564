import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { describe, test } from 'vitest'
import { asError, hasCode, Problem } from './problem.ts'

describe('what was thrown', () => {
  test('stays the same error, stack and all', () => {
    const fault = new TypeError('no such thing')
    assert.equal(asError(fault), fault)
  })

  for (const [thrown, message] of [
    ['a sentence', 'a sentence'],
    [undefined, 'undefined'],
    [42, '42'],
  ] as const) {
    test(`becomes an error that says ${JSON.stringify(message)}`, () => {
      const fault = asError(thrown)
      assert.ok(fault instanceof Error)
      assert.equal(fault.message, message)
    })
  }
})

describe('a code', () => {
  const missing = thrownBy(() => statSync('/none/at/all'))
  for (const [name, error, codes, expected] of [
    ['of Node is found', missing, ['ENOENT'], true],
    ['is found among several', missing, ['ENOTDIR', 'ENOENT'], true],
    ['is not another', missing, ['EACCES'], false],
    ['of a refusal of ours is found', new Problem('overloaded', 'later'), ['overloaded'], true],
    ['is not there where none was set', new Error('ENOENT'), ['ENOENT', 'undefined'], false],
    ['counts only on an error', { code: 'ENOENT' }, ['ENOENT'], false],
    ['is not there in nothing', undefined, ['ENOENT'], false],
  ] as const) {
    test(name, () => assert.equal(hasCode(error, ...codes), expected))
  }
})

function thrownBy(attempt: () => unknown): unknown {
  try {
    attempt()
  } catch (error) {
    return error
  }
  return undefined
}
