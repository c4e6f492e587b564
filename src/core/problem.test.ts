import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hasErrorCode, Problem, toError } from './problem.ts'

test('a problem is an error with a code, a message, and a retry time where a retry helps', () => {
  const problem = new Problem('rate_limited', 'Too many requests.', 3)
  expect(problem).toBeInstanceOf(Error)
  expect({ ...problem, message: problem.message }).toEqual({
    code: 'rate_limited',
    message: 'Too many requests.',
    retryAfter: 3,
  })
})

test('a problem that a retry does not solve has no retry time', () => {
  expect(new Problem('invalid_key', 'No.').retryAfter).toBeUndefined()
})

describe('toError', () => {
  test('returns an Error unchanged', () => {
    const fault = new TypeError('no such thing')
    assert.equal(toError(fault), fault)
  })

  for (const [thrown, message] of [
    ['a sentence', 'a sentence'],
    [undefined, 'undefined'],
    [42, '42'],
  ] as const) {
    test(`makes an Error with the message ${JSON.stringify(message)}`, () => {
      const fault = toError(thrown)
      assert.ok(fault instanceof Error)
      assert.equal(fault.message, message)
    })
  }
})

describe('an error code', () => {
  const missing = thrownBy(() => statSync('/none/at/all'))
  for (const [name, error, codes, expected] of [
    ['of Node is found', missing, ['ENOENT'], true],
    ['is found among several', missing, ['ENOTDIR', 'ENOENT'], true],
    ['is not another', missing, ['EACCES'], false],
    ['of a Problem is found', new Problem('overloaded', 'later'), ['overloaded'], true],
    ['is not there where none was set', new Error('ENOENT'), ['ENOENT', 'undefined'], false],
    ['counts only on an error', { code: 'ENOENT' }, ['ENOENT'], false],
    ['is not there in nothing', undefined, ['ENOENT'], false],
  ] as const) {
    test(name, () => assert.equal(hasErrorCode(error, ...codes), expected))
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
