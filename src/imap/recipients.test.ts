import { describe, expect, test } from 'vitest'
import { readFields } from './header.ts'
import { candidates } from './recipients.ts'

function candidatesOf(...lines: string[]): string[] {
  const text = `${lines.join('\r\n')}\r\n\r\nTo: body@x.test\r\n`
  return candidates(readFields(Buffer.from(text)).fields).all
}

describe('where the addresses are taken from', () => {
  for (const [name, lines, expected] of [
    ['Delivered-To', ['Delivered-To: ann+x@mail.test'], ['ann+x@mail.test']],
    ['X-Original-To', ['X-Original-To: <ann+x@mail.test>'], ['ann+x@mail.test']],
    ['To', ['To: ann+x@mail.test'], ['ann+x@mail.test']],
    ['Cc', ['Cc: Ann <ann+x@mail.test>'], ['ann+x@mail.test']],
    ['never Bcc, From or Reply-To', ['Bcc: a@x.test', 'From: b@x.test', 'Reply-To: c@x.test'], []],
    [
      'the top Received only',
      [
        'Received: from a.test (a.test [192.0.2.1]) by mx.test with ESMTPS id 7',
        ' for <ann+x@mail.test>; Sun, 15 Nov 2026 05:00:00 +0000',
        'Received: by mx.test for <ann+y@mail.test>; Sun, 15 Nov 2026 04:59:59 +0000',
      ],
      ['ann+x@mail.test'],
    ],
    [
      'none when the top Received has no for',
      ['Received: by a.test', 'Received: by b.test for <c@x.test>'],
      [],
    ],
    [
      'likeliest first, whatever the order of the header',
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
      'each once, from fields that come twice',
      ['To: a@x.test', 'TO: A@X.test, b@x.test', 'Delivered-To: b@x.test'],
      ['b@x.test', 'a@x.test'],
    ],
  ] as const) {
    test(name, () => expect(candidatesOf(...lines)).toEqual(expected))
  }
})

describe('how a list is read', () => {
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

describe('an alias is the whole of itself', () => {
  for (const text of [
    'ann+tag@mail.test',
    'a.n.n@mail.test',
    'ann+tag.x@mail.test',
    'ann+ta@mail.test',
  ]) {
    test(`${text} is taken as it is written`, () => {
      expect(candidatesOf(`To: ${text}`)).toEqual([text])
    })
  }
})

describe('what a sender says of itself is not who the mail is for', () => {
  for (const value of [
    'from helo.test (for <ann+x@mail.test>) by mx.test; now',
    'from for <ann+x@mail.test> by mx.test; now',
    'from "for <ann+x@mail.test>" by mx.test; now',
  ]) {
    test(value, () => expect(candidatesOf(`Received: ${value}`)).toEqual([]))
  }
})

test('no header makes it slow', () => {
  for (const piece of ['(', '"', '<', 'a@b,', ',', '<a', '("', '\\', ' \r\n ', 'x: ']) {
    const value = piece.repeat(200_000 / piece.length)
    const begun = process.cpuUsage().user
    candidatesOf(`To: ${value}`)
    candidatesOf(`Received: ${value}`)
    // Seconds would be the square of it.
    expect(process.cpuUsage().user - begun).toBeLessThan(1_000_000)
  }
})
