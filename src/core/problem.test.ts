import { expect, test } from 'vitest'
import { Problem } from './problem.ts'

test('a problem is an error with a code, a sentence, and a wait where waiting helps', () => {
  const problem = new Problem('rate_limited', 'Too many requests.', 3)
  expect(problem).toBeInstanceOf(Error)
  expect({ ...problem, message: problem.message }).toEqual({
    code: 'rate_limited',
    message: 'Too many requests.',
    retryAfter: 3,
  })
})

test('a problem that waiting does not mend has no wait', () => {
  expect(new Problem('invalid_key', 'No.').retryAfter).toBeUndefined()
})
