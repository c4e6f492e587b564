import { describe, expect, test } from 'vitest'
import { isSuperlinear } from '../../../test/kit/mail/growth.ts'
import type { Address } from '../../base/address.ts'
import { candidates, coversAllAliases, readFields, selectRecipients } from './recipients.ts'

function candidatesOf(...lines: string[]): string[] {
  const text = `${lines.join('\r\n')}\r\n\r\nTo: body@x.test\r\n`
  return candidates(readFields(Buffer.from(text)).fields).all
}

describe('sources of addresses', () => {
  for (const [name, lines, expected] of [
    ['Delivered-To', ['Delivered-To: ann+x@mail.test'], ['ann+x@mail.test']],
    ['X-Original-To', ['X-Original-To: <ann+x@mail.test>'], ['ann+x@mail.test']],
    ['To', ['To: ann+x@mail.test'], ['ann+x@mail.test']],
    ['Cc', ['Cc: Ann <ann+x@mail.test>'], ['ann+x@mail.test']],
    ['never Bcc, From or Reply-To', ['Bcc: a@x.test', 'From: b@x.test', 'Reply-To: c@x.test'], []],
    [
      'the topmost Received only',
      [
        'Received: from a.test (a.test [192.0.2.1]) by mx.test with ESMTPS id 7',
        ' for <ann+x@mail.test>; Sun, 15 Nov 2026 05:00:00 +0000',
        'Received: by mx.test for <ann+y@mail.test>; Sun, 15 Nov 2026 04:59:59 +0000',
      ],
      ['ann+x@mail.test'],
    ],
    [
      'none if the topmost Received has no for',
      ['Received: by a.test', 'Received: by b.test for <c@x.test>'],
      [],
    ],
    [
      'most likely first, whatever the header order',
      [
        'Received: by mx.test for <five@x.test>; now',
        'Cc: four@x.test',
        'To: three@x.test',
        'X-Original-To: two@x.test',
        'Delivered-To: one@x.test',
      ],
      ['one@x.test', 'two@x.test', 'three@x.test', 'four@x.test', 'five@x.test'],
    ],
    [
      'each once, from repeated fields',
      ['To: a@x.test', 'TO: A@X.test, b@x.test', 'Delivered-To: b@x.test'],
      ['b@x.test', 'a@x.test'],
    ],
  ] as const) {
    test(name, () => expect(candidatesOf(...lines)).toEqual(expected))
  }
})

describe('address lists', () => {
  for (const [value, expected] of [
    ['a@x.test, b@x.test', ['a@x.test', 'b@x.test']],
    ['Ann <a@x.test>,"Bob, B." <b@x.test>', ['a@x.test', 'b@x.test']],
    ['friends: a@x.test, Bob <b@x.test>; c@x.test', ['a@x.test', 'b@x.test', 'c@x.test']],
    ['undisclosed-recipients:;', []],
    ['a@x.test\r\n , b@x.test\r\n\t, c@x.test', ['a@x.test', 'b@x.test', 'c@x.test']],
    ['a@x.test (b@x.test), (c@x.test) d@x.test', ['a@x.test', 'd@x.test']],
    ['"a@x.test" <b@x.test>', ['b@x.test']],
    ['a@x.test <b@x.test>', ['b@x.test']],
    ['"a@x.test, c@x.test"', []],
    ['=?utf-8?Q?a=40x.test?= <b@x.test>', ['b@x.test']],
    ['=?utf-8?Q?a=40x.test?=', []],
    ['Bob <work <b@x.test>', ['b@x.test']],
    ['"never closed <b@x.test>', ['b@x.test']],
    ['(never closed <b@x.test>', ['b@x.test']],
    ['<@relay.test:b@x.test>', ['b@x.test']],
    ['a b@x.test', []],
    ['Ann+Tag@Mail.Test', ['ann+tag@mail.test']],
    ['a@bücher.test', ['a@xn--bcher-kva.test']],
  ] as const) {
    test(value, () => expect(candidatesOf(`To: ${value}`)).toEqual(expected))
  }
})

describe('an alias matches as a whole', () => {
  for (const text of [
    'ann+tag@mail.test',
    'a.n.n@mail.test',
    'ann+tag.x@mail.test',
    'ann+ta@mail.test',
  ]) {
    test(`${text} is matched literally`, () => {
      expect(candidatesOf(`To: ${text}`)).toEqual([text])
    })
  }
})

describe('HELO names and comments in Received are ignored', () => {
  for (const value of [
    'from helo.test (for <ann+x@mail.test>) by mx.test; now',
    'from for <ann+x@mail.test> by mx.test; now',
    'from "for <ann+x@mail.test>" by mx.test; now',
  ]) {
    test(value, () => expect(candidatesOf(`Received: ${value}`)).toEqual([]))
  }
})

test('parsing takes linear time', () => {
  const pieces = ['(', '"', '<', 'a@b,', ',', '<a', '("', '\\', ' \r\n ', 'x: ']
  for (const header of ['To', 'Received']) {
    const read = (value: string) => candidatesOf(`${header}: ${value}`)
    expect(pieces.filter((piece) => isSuperlinear(read, piece, 200_000))).toEqual([])
  }
})

const ACCOUNT = 'ann.lee@mail.test' as Address
const X = 'ann.lee+x@mail.test'
const Y = 'ann.lee+y@mail.test'
const DOTTED = 'a.nnlee@mail.test'
const OTHER = 'annl.ee@mail.test'
const LIVE: readonly string[] = [X, Y, DOTTED, OTHER]

function recipientsOf(lines: readonly string[], gmail: boolean): Address[] {
  const { fields } = readFields(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`))
  const isAlias = (address: Address) => LIVE.includes(address)
  return selectRecipients(candidates(fields), isAlias, { account: ACCOUNT, gmail })
}

function covers(lines: readonly string[], gmail: boolean): boolean {
  const named = candidates(readFields(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)).fields)
  const isAlias = (address: Address) => LIVE.includes(address)
  const mailbox = { account: ACCOUNT, gmail }
  return coversAllAliases(named, selectRecipients(named, isAlias, mailbox), isAlias, mailbox)
}

const delivered = (to: string) => `Delivered-To: ${to}`
const received = (to: string) => `Received: by mx.test with LMTP for <${to}>; now`

describe('a dot form only in Delivered-To', () => {
  for (const [name, lines, expected] of [
    ['counts if the mail names nobody', [delivered(DOTTED)], [DOTTED]],
    ['counts beside addresses of others', [delivered(DOTTED), 'To: bob@x.test'], [DOTTED]],
    [
      'counts beside the same local part at another host',
      [delivered(DOTTED), 'To: annlee@x.test'],
      [DOTTED],
    ],
    ['counts beside a longer name', [delivered(DOTTED), 'To: annleex@mail.test'], [DOTTED]],
    ['does not count beside a tagged alias in To', [delivered(DOTTED), `To: ${X}`], [X]],
    ['does not count beside an alias in Cc', [delivered(DOTTED), `Cc: ${X}`], [X]],
    [
      'does not count beside an alias in X-Original-To',
      [delivered(DOTTED), `X-Original-To: ${X}`],
      [X],
    ],
    ['does not count beside an alias in Received', [delivered(DOTTED), received(X)], [X]],
    ['does not count beside another dot form', [delivered(DOTTED), `To: ${OTHER}`], [OTHER]],
    [
      'does not count beside the account without dots',
      [delivered(DOTTED), 'To: annlee@mail.test'],
      [],
    ],
    [
      'does not count beside the account’s own spelling',
      [delivered(DOTTED), `To: Ann <${ACCOUNT}>`],
      [],
    ],
    ['does not count beside an unused tag', [delivered(DOTTED), 'To: annlee+q@mail.test'], []],
    ['counts if To has it too', [delivered(DOTTED), `To: ${DOTTED}, ${X}`], [DOTTED, X]],
    ['counts if Received has it too', [delivered(DOTTED), received(DOTTED)], [DOTTED]],
    ['a tag in Delivered-To always counts', [delivered(Y), `To: ${X}`], [Y, X]],
  ] as const) {
    test(name, () => expect(recipientsOf(lines, true)).toEqual(expected))
  }
})

describe('one copy per recipient', () => {
  for (const [name, lines, expected] of [
    [
      'a Bcc recipient is not revealed to the one in To',
      [delivered(Y), received(Y), `To: ${X}`],
      [Y],
    ],
    ['others named in it have their own copy', [delivered(X), `To: ${X}, ${Y}`], [X]],
    ['X-Original-To counts as well', [`X-Original-To: ${Y}`, `To: ${X}`], [Y]],
    [
      'X-Original-To counts above Delivered-To of the account',
      [`X-Original-To: ${Y}`, delivered(ACCOUNT), `To: ${X}`],
      [Y],
    ],
    [
      'X-Original-To counts below Delivered-To of the account',
      [delivered(ACCOUNT), `X-Original-To: ${Y}`, `To: ${X}`],
      [Y],
    ],
    ['the topmost of two counts', [delivered(Y), `X-Original-To: ${X}`], [Y]],
    ['the topmost is the server’s; those below may be forged', [delivered(Y), delivered(X)], [Y]],
    ['all count if the topmost is the account', [delivered(ACCOUNT), `To: ${X}, ${Y}`], [X, Y]],
    [
      'an alias below the account counts like the others',
      [delivered(ACCOUNT), delivered(Y), `To: ${X}`],
      [Y, X],
    ],
    ['all count if no field names the recipient of the copy', [`To: ${X}`, `Cc: ${Y}`], [X, Y]],
    ['an ambiguous dot form does not count', [delivered(DOTTED), `To: ${X}, ${Y}`], [X, Y]],
  ] as const) {
    test(name, () => expect(recipientsOf(lines, false)).toEqual(expected))
  }

  test('Gmail stores one copy: all named aliases count', () => {
    expect(recipientsOf([delivered(Y), `To: ${X}`], true)).toEqual([Y, X])
  })
})

describe('coversAllAliases', () => {
  const many = Array.from({ length: 1_000 }, (_, number) => `n${number}@x.test`).join(', ')
  for (const [name, lines, gmail, expected] of [
    ['true if all were selected', [`To: ${X}, ${Y}, bob@x.test`], true, true],
    ['true if others have copies of their own', [delivered(X), `To: ${Y}`], false, true],
    ['false with an ambiguous dot form', [delivered(DOTTED), `To: ${X}`], true, false],
    [
      'false if such a form is the recipient of the copy',
      [delivered(DOTTED), `To: ${X}`],
      false,
      false,
    ],
    ['false if it names more addresses than are read', [`To: ${X}, ${many}, ${Y}`], true, false],
  ] as const) {
    test(name, () => expect(covers(lines, gmail)).toBe(expected))
  }
})
