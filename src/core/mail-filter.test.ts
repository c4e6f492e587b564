import { describe, expect, test } from 'vitest'
import { matchesFilter, parseFilter, parseSearch } from './mail-filter.ts'

const INVALID = expect.objectContaining({ code: 'invalid_parameter' })

const MESSAGE = { senderEmail: 'ann@shop.test', subject: 'Your CODE', code: '1' }

describe('a filter', () => {
  for (const [input, expected] of [
    [{ from: 'shop.test' }, true],
    [{ subject: 'our code' }, true],
    [{ has_code: true }, true],
    [{ from: 'shop.test', subject: 'code', has_code: true }, true],
    [{ from: 'other.test', subject: 'code' }, false],
    [{ from: 'shop.test', subject: 'other' }, false],
  ] as const) {
    test(`${JSON.stringify(input)} gives ${expected}`, () => {
      const filter = parseFilter(input)
      expect(filter && matchesFilter(filter, MESSAGE)).toBe(expected)
    })
  }

  test('without conditions does not exist', () => {
    expect(parseFilter({})).toBeUndefined()
    expect(parseFilter({ has_code: false })).toBeUndefined()
  })

  for (const [code, expected] of [
    ['1', true],
    ['', false],
    [undefined, undefined],
  ] as const) {
    test(`for codes gives ${expected} for the code ${JSON.stringify(code)}`, () => {
      const filter = parseFilter({ has_code: true })
      expect(filter && matchesFilter(filter, { ...MESSAGE, code })).toBe(expected)
    })
  }

  test('that another condition refuses does not depend on the code', () => {
    const filter = parseFilter({ has_code: true, from: 'other.test' })
    expect(filter && matchesFilter(filter, { ...MESSAGE, code: undefined })).toBe(false)
  })

  test('for half of a surrogate pair is not found in an emoji', () => {
    const filter = parseFilter({ subject: '\ud83d' })
    expect(filter && matchesFilter(filter, { ...MESSAGE, subject: '👍' })).toBe(false)
  })

  test('takes 200 characters of a subject, and not 201', () => {
    expect(parseFilter({ subject: '👍'.repeat(200) })).toBeDefined()
    expect(() => parseFilter({ subject: 'a'.repeat(201) })).toThrow(INVALID)
    expect(() => parseFilter({ from: 'a b' })).toThrow(INVALID)
  })
})

test('a search takes 2 to 100 characters', () => {
  for (const text of ['中文', 'a'.repeat(100)]) expect(parseSearch(text)).toBe(text)
  for (const text of ['a', '👍', 'a'.repeat(101)]) {
    expect(() => parseSearch(text)).toThrow(INVALID)
  }
})
