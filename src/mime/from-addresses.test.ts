import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { scanned } from '../../test/kit/mail/scan.ts'
import { blockList, parseBlockEntry } from '../blocks/rules.ts'
import { readMailboxes } from './addresses.ts'
import { readFromAddresses } from './header-summary.ts'
import { plainAddresses } from './possible-addresses.ts'

const utf8 = (text: string) => Buffer.from(text, 'utf8').toString('latin1')

describe('the addresses of From', () => {
  const long = 'x'.repeat(50_000)
  const many = Array.from({ length: 5_000 }, (_, index) => `a${index}@b.test`).join(', ')
  for (const [name, header, addresses] of [
    ['are those of all mailboxes', 'From: A <a@a.test>, b@b.test', ['a@a.test', 'b@b.test']],
    [
      'are those of all fields',
      'From: a@a.test\r\nX: x\r\nFROM: b@b.test',
      ['a@a.test', 'b@b.test'],
    ],
    ['are those of a group', 'From: All: a@a.test, <b@b.test>;', ['a@a.test', 'b@b.test']],
    ['are not those of other fields', 'Sender: s@s.test\r\nX-From: x@x.test', []],
    ['are found after a long name', `From: "${long}" <a@a.test>`, ['a@a.test']],
    ['are found before an unclosed quote', `From: "${long}" <a@a.test> "`, ['a@a.test']],
    ['are found in a field after a long one', `From: ${long}\r\nFrom: a@a.test`, ['a@a.test']],
    ['are found with blanks', `From: ${long} <a@ a.test>`, ['a@a.test']],
    ['are found around control characters', 'From: <a\0@\x7fa.\vtest>', ['a@a.test']],
    [
      'are found around comments in a word',
      'From: a(c)b@b.test, c(()@c.test',
      ['ab@b.test', 'c@c.test'],
    ],
    [
      'are found around control characters of a long field',
      `From: ${long}${long}, a\0@a.\x01test`,
      ['a@a.test'],
    ],
    ['are found in a bracket that is not closed', 'From: A <a@a.test', ['a@a.test']],
    ['are found after an unclosed quote', 'From: <" , <a@a.test>', ['a@a.test']],
    ['are found after many words', `From: ${'a '.repeat(300)}<a@a.test>`, ['a@a.test']],
    [
      'include the sender that lists show, also beside many @ signs',
      `From: "${'@'.repeat(200)}" <a@a.test>, (${'@'.repeat(5_000)})`,
      ['a@a.test'],
    ],
    [
      'include all mailboxes of the first field, also beside many others',
      `From: ${'a@b.test,'.repeat(50)}a@a.test\r\nFrom: ${'a@b.test,'.repeat(50)}`,
      ['a@a.test'],
    ],
    [
      'include the sender that lists show, also beside a long field',
      `From: a@(c)a.test\r\nFrom: ${long}`,
      ['a@a.test'],
    ],
    [
      'are those in every charset that may be meant',
      'From: x\x81@a.test\r\nContent-Type: text/plain; charset=shift_jis',
      ['x\x81@a.test'],
    ],
    [
      'are decoded by field',
      `From: \xff${long}\r\nFrom: ${utf8('a@bücher.test')}`,
      ['a@bücher.test'],
    ],
    ['are all of many', `From: ${many}`, ['a0@b.test', 'a2500@b.test', 'a4999@b.test']],
    [
      'are those of all of many fields',
      `From: ${many.replaceAll(', ', '\r\nFrom: ')}`,
      ['a0@b.test', 'a2500@b.test', 'a4999@b.test'],
    ],
    ['are found after a long header', `X: ${long}${long}${long}\r\nFrom: a@a.test`, ['a@a.test']],
    ['are found after many fields', `${'X: y\r\n'.repeat(20_000)}from : a@a.test`, ['a@a.test']],
  ] as const) {
    test(name, () => {
      const raw = Buffer.from(`${header}\r\n\r\nFrom: x@y.test\r\n`, 'latin1')
      const found = [...readFromAddresses(scanned(raw))].filter(Boolean)
      expect(found).toEqual(expect.arrayContaining([...addresses]))
      if (addresses.length === 0) expect(found).toEqual([])
    })
  }
})

test('are those of all mailboxes that can be read', () => {
  const parts = [
    'evil',
    'x',
    '@',
    '@bad.test',
    'bad',
    '.',
    'ok@good.test',
    ', ',
    ',',
    '(',
    ')',
    '"',
    '<',
    '>',
    ' ',
    '\\',
    ':',
    ';',
    '\0',
  ]
  const field = fc.array(fc.constantFrom(...parts), { maxLength: 20 }).map((some) => some.join(''))
  fc.assert(
    fc.property(field, (from) => {
      const raw = Buffer.from(`From: ${from}\r\n\r\n`)
      const found = [...readFromAddresses(scanned(raw))].map((one = '') => one.replace(/\.+$/, ''))
      for (const { address } of readMailboxes(from)) {
        expect(found).toContain(address.replace(/\.+$/, ''))
      }
    }),
    { numRuns: 2_000 },
  )
})

test('an address of a long field is read whole, wherever a piece of the field ends', () => {
  const read = (field: string) => [...plainAddresses(Buffer.from(field))].filter(Boolean)
  const address = `${'ü'.repeat(20)}@${'bücher.'.repeat(10)}test`
  for (let before = 131_072 - 2 * address.length; before < 131_080; before += 1) {
    expect(read(`${','.repeat(before)}${address},${','.repeat(1_000)}`)).toEqual([address])
  }
  for (let before = 130_000; before < 131_080; before += 5) {
    const spread = 'jürgen . k (c) @ (a (b) \\) c)\r\n bücher. (c) test'
    expect(read(`${','.repeat(before)}${spread},${','.repeat(1_000)}`)).toEqual(
      expect.arrayContaining(['k@bücher.', 'jürgen.k@bücher.test']),
    )
  }
  expect(read(`a@${'\r\n '.repeat(100_000)}a.test`)).toEqual(['a@a.test'])
  expect(read('\x80@a,'.repeat(100_000))).toHaveLength(100_000)
})

describe('with evil@bad.test on the block list', () => {
  const now = new Date()
  const list = blockList()
  list.apply({ entry: parseBlockEntry('evil@bad.test'), expiresAt: undefined, number: 1 }, now)
  const isBlocked = (from: string) =>
    readFromAddresses(scanned(Buffer.from(`From: ${from}\r\n\r\n`))).some((one) =>
      list.hasSender(one ?? '', now),
    )

  for (const from of [
    'evil@bad.test',
    'Ann <ok@good.test>, Evil <evil@bad.test>',
    '<evil@bad.test (c)>, <ok@good.test>',
    '<evil@bad.test\0>, <ok@good.test>',
    '<ok@good.test> <evil@bad.test>',
    '<evil@bad.test <ok@good.test>',
    'evil@bad.test ok@good.test',
    'evil@bad.test <ok@good.test>',
    'ok@good.test, Mr. evil@bad.test',
    '<@relay.test:evil@bad.test (c)>',
    '<evil@(c)bad.test>',
    '<evil@(a (b) "c)bad.test> (")',
    '<evil (a) @ (b) bad (c) . (d) test>',
    `<evil${' '.repeat(200)}@${' '.repeat(600)}bad.test (c)>`,
    '<"evil" (c) @bad.test>, <ok@good.test>',
    '<"e\\vil"@bad.test (c)>, <ok@good.test>',
    '"Ann <evil@(c)bad.test>',
    '\\" <evil@bad.test> ", <ok@good.test>',
    '<evil@bad。test>, <ok@good.test>',
    `<evil@(c)bad.test>, "${'x'.repeat(50_000)}" <ok@good.test>`,
    'ok@good.test, ev(b(c)d)il@bad.test',
    'ok@good.test, ev(\\()il@bad.test',
    `${'x'.repeat(66_000)} <ok@good.test>, ev(x)il@bad.test`,
    `${'x'.repeat(66_000)} <ok@good.test>, "ev"il@b(x)ad.test`,
    '"evil@bad.test"',
    '(evil@bad.test)',
    'ok@good.test\r\nFrom: "evil@bad.test"',
    'ok@good.test "\r\nFrom: evil@bad.test\r\nFrom: " ok@good.test',
    `ok@good.test\r\n${'X-Pad: x\r\n'.repeat(8_500)}From: evil@bad.test`,
    `${'ok@good.test, '.repeat(10_000)}EVIL@\r\n Bad.test${', ok@good.test'.repeat(10_000)}`,
  ]) {
    test(`From: ${JSON.stringify(from.slice(0, 80))} is blocked`, () =>
      expect(isBlocked(from)).toBe(true))
  }

  const many = 'ok@good.test, '.repeat(5_000)
  for (const from of [
    'evil@(c)bad.test',
    'evil(c)@bad.test',
    'evil @bad.test',
    'evil@bad.\r\n test',
    'evil@bad\r\n .test',
    'evil@bad。 test',
    '<evil (a) @ (b) bad (c) . (d) test>',
    'evil@(a (b) \\) c)bad.test',
    '"(" <evil@(c)bad.test> ")"',
    'Mr. evil@bad.test',
    'evil@bad.test . Ann',
    'ok@good.test (evil@bad.test)',
  ]) {
    test(`a second From of ${JSON.stringify(from)} after 64 KB is blocked`, () =>
      expect(isBlocked(`${many}\r\nFrom: ${from}`)).toBe(true))
  }

  for (const from of ['devil@(c)bad.test', 'evil@(c)bad.test.example', 'evil @sub.bad.test']) {
    test(`a second From of ${JSON.stringify(from)} after 64 KB is not blocked`, () =>
      expect(isBlocked(`${many}\r\nFrom: ${from}`)).toBe(false))
  }

  for (const from of [
    'ok@good.test',
    'devil@bad.test',
    'evil@bad.test.example',
    'evil@sub.bad.test',
    '"evil@bad.test" <ok@good.test>',
    'Ann, "evil@bad.test" <ok@good.test>',
    'Ann, "<evil@bad.test>, \\"" (") <ok@good.test>',
    'Ann, =?utf-8?Q?<evil@bad.test>?= <ok@good.test>',
    'Ann, (<evil@bad.test>) <ok@good.test (evil@bad.test)>',
    '<"evil@bad.test"@good.test (c)>',
    `"evil@bad.test" <ok@good.test>, ${'x'.repeat(50_000)}`,
  ]) {
    test(`From: ${JSON.stringify(from.slice(0, 80))} is not blocked`, () =>
      expect(isBlocked(from)).toBe(false))
  }
})
