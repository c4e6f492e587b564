import { describe, expect, test } from 'vitest'
import { MAX_HEADER_BYTES, readFields } from './recipients.ts'

const fieldsOf = (text: string) =>
  readFields(Buffer.from(text, 'latin1')).fields.map(({ name, value }) => `${name}=${value}`)

describe('fields of a header block', () => {
  for (const [name, text, expected] of [
    ['lines may end with LF or CRLF', 'A: 1\nB: 2\r\n\r\nC: 3', ['a=1', 'b=2']],
    ['a folded value is one line', 'To: a,\r\n  b,\r\n\tc\r\n\r\n', ['to=a, b, c']],
    ['the body is not part of the header', 'A: 1\r\n\r\nB: 2\r\n', ['a=1']],
    ['a mail without a header has none', '\r\nA: 1\r\n', []],
    [
      'an mbox line and malformed lines are skipped',
      'From x y\r\nA: 1\r\nnonsense\r\nB: 2',
      ['a=1', 'b=2'],
    ],
    ['blanks before the colon are accepted', 'To : a', ['to=a']],
    ['a continuation of no field is skipped', '  lost\r\nA: 1', ['a=1']],
    [
      'prototype property names are ordinary names',
      '__proto__: 1\r\nconstructor: 2',
      ['__proto__=1', 'constructor=2'],
    ],
  ] as const) {
    test(name, () => expect(fieldsOf(text)).toEqual(expected))
  }

  const line = `X: ${'y'.repeat(997)}\r\n`

  test('an oversized header is read up to its last complete line', () => {
    const { fields, cut } = readFields(Buffer.from(`${line.repeat(300)}To: a@x.test\r\n\r\n`))
    expect(cut).toBe(true)
    expect(fields).toHaveLength(Math.floor(MAX_HEADER_BYTES / line.length))
    expect(new Set(fields.map(({ value }) => value.length))).toEqual(new Set([997]))
  })

  for (const [name, text, cut] of [
    [
      'a header within the limit is complete, however long the mail',
      `To: a\r\n\r\n${line.repeat(300)}`,
      false,
    ],
    ['a header without a body is complete', 'To: a\r\n', false],
    ['a header that ends at the limit is complete', `${'X: y\r\n'.repeat(43_690)}\r\n\r\n`, false],
    ['unwanted fields do not count', `${'X: y\r\n'.repeat(3_000)}To: a\r\n\r\n`, false],
    ['2,000 wanted fields are complete', 'To: a\r\n'.repeat(2_000), false],
    ['2,001 wanted fields are truncated', 'To: a\r\n'.repeat(2_001), true],
  ] as const) {
    test(name, () => {
      const read = readFields(Buffer.from(text), (field) => field === 'to')
      expect(read.cut).toBe(cut)
    })
  }
})
