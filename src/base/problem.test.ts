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
    const error = new TypeError('no such thing')
    expect(toError(error)).toBe(error)
  })

  for (const [thrown, message] of [
    ['a sentence', 'a sentence'],
    [undefined, 'undefined'],
    [42, '42'],
  ] as const) {
    test(`creates an Error with the message ${JSON.stringify(message)}`, () => {
      const error = toError(thrown)
      expect(error).toBeInstanceOf(Error)
      expect(error.message).toBe(message)
    })
  }
})

describe('an error code', () => {
  const missing = thrownBy(() => statSync('/none/at/all'))
  for (const [name, error, codes, expected] of [
    ['of Node is found', missing, ['ENOENT'], true],
    ['is found among several', missing, ['ENOTDIR', 'ENOENT'], true],
    ['is not found if another is set', missing, ['EACCES'], false],
    ['of a Problem is found', new Problem('overloaded', 'later'), ['overloaded'], true],
    ['is not found if none is set', new Error('ENOENT'), ['ENOENT', 'undefined'], false],
    ['is found only on an Error', { code: 'ENOENT' }, ['ENOENT'], false],
    ['is not found on undefined', undefined, ['ENOENT'], false],
  ] as const) {
    test(name, () => expect(hasErrorCode(error, ...codes)).toBe(expected))
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
