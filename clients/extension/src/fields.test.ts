import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { asWords, codeFields, type FieldFacts, isEmailField, splitCode } from './fields.ts'

function field(facts: Partial<FieldFacts>): FieldFacts {
  return { type: 'text', autocomplete: '', maxLength: -1, width: 200, words: '', ...facts }
}
const box = (facts: Partial<FieldFacts> = {}) => field({ maxLength: 1, width: 40, ...facts })
const many = (count: number, facts: Partial<FieldFacts> = {}) =>
  Array.from({ length: count }, () => box(facts))

describe('for an e-mail address', () => {
  for (const facts of [
    { type: 'email' },
    { autocomplete: 'section-a email' },
    { words: 'userEmail' },
    { words: 'e-mail' },
    { words: 'Username or Email address' },
    { words: 'Correo electrónico' },
    { words: 'Adresse de courriel' },
    { words: '邮箱' },
    { words: 'البريد الإلكتروني' },
  ]) {
    test(JSON.stringify(facts), () => expect(isEmailField(field(facts))).toBe(true))
  }
})

describe('not for an e-mail address', () => {
  for (const facts of [
    { words: 'name' },
    { type: 'password', words: 'email password' },
    { type: 'checkbox', words: 'email me offers' },
    { type: 'hidden', autocomplete: 'email' },
    { type: 'tel', words: 'phone' },
  ]) {
    test(JSON.stringify(facts), () => expect(isEmailField(field(facts))).toBe(false))
  }
})

describe('where a code belongs', () => {
  const name = field({ words: 'first name' })
  const email = field({ type: 'email', words: 'verification code goes to this email' })
  for (const [title, fields, expected] of [
    ['the field that is named for it', [name, field({ autocomplete: 'one-time-code' })], [1]],
    ['a named password field', [field({ type: 'password', autocomplete: 'one-time-code' })], [0]],
    ['six boxes', [email, ...many(6)], [1, 2, 3, 4, 5, 6]],
    ['four boxes', many(4), [0, 1, 2, 3]],
    [
      'six boxes that are all named',
      many(6, { autocomplete: 'one-time-code' }),
      [0, 1, 2, 3, 4, 5],
    ],
    [
      'six boxes of which the first takes a pasted code',
      [box({ autocomplete: 'one-time-code', maxLength: 6 }), ...many(5)],
      [0, 1, 2, 3, 4, 5],
    ],
    ['narrow fields of numbers', many(6, { type: 'number', maxLength: -1 }), [0, 1, 2, 3, 4, 5]],
    [
      'the named field, not boxes elsewhere',
      [field({ autocomplete: 'one-time-code' }), name, ...many(4)],
      [0],
    ],
    ['a plain field by its name', [name, field({ words: 'otp_code' })], [1]],
    ['a plain field by its label', [field({ words: 'x1 Enter the code we sent' })], [0]],
    ['in German', [field({ words: 'Bestätigungscode' })], [0]],
    ['in Chinese', [field({ words: '验证码' })], [0]],
    ['in Arabic', [field({ words: 'رمز التحقق' })], [0]],
    ['no field of another kind', [name, email], []],
    ['not a postal code', [field({ words: 'postalCode' }), field({ words: 'zip code' })], []],
    ['not a voucher', [field({ words: 'promo-code' }), field({ words: 'Coupon code' })], []],
    ['not a country code', [field({ type: 'tel', words: 'country code' })], []],
    ['not three boxes, as for a date', many(3), []],
    ['not a password', [field({ type: 'password', words: 'new password pin' })], []],
  ] as const) {
    test(title, () => expect(codeFields(fields)).toEqual(expected))
  }
})

test('whatever a page has, the positions are distinct fields of the list', () => {
  const anyField = fc.record({
    type: fc.constantFrom('text', 'tel', 'number', 'email', 'password', 'checkbox', 'odd'),
    autocomplete: fc.constantFrom('', 'one-time-code', 'email', 'off'),
    maxLength: fc.constantFrom(-1, 0, 1, 6),
    width: fc.constantFrom(0, 40, 200),
    words: fc.oneof(fc.string(), fc.constantFrom('code', 'email', 'pin zip')),
  })
  fc.assert(
    fc.property(fc.array(anyField, { maxLength: 20 }), (fields) => {
      const found = codeFields(fields)
      expect(new Set(found).size).toBe(found.length)
      for (const at of found) expect(fields[at]).toBeDefined()
      for (const at of found) expect(fields[at]?.type).not.toMatch(/^(email|checkbox|odd)$/)
    }),
  )
})

test('names of programs are read as words', () => {
  expect(asWords('verifyCode otp_code e-mail')).toBe('verify code otp code e mail')
})

test('a code is split only among as many boxes', () => {
  expect(splitCode('123456', 1)).toEqual(['123456'])
  expect(splitCode('123456', 6)).toEqual(['1', '2', '3', '4', '5', '6'])
  expect(splitCode('1234', 6)).toBeUndefined()
})
