import { describe, expect, test } from 'vitest'
import type { Address } from '../core/address.ts'
import { readFields } from './header.ts'
import { addressees, candidates, isForNobodyElse } from './recipients.ts'

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

const ACCOUNT = 'ann.lee@mail.test' as Address
const X = 'ann.lee+x@mail.test'
const Y = 'ann.lee+y@mail.test'
const DOTTED = 'a.nnlee@mail.test'
const OTHER = 'annl.ee@mail.test'
const LIVE: readonly string[] = [X, Y, DOTTED, OTHER]

function addresseesOf(lines: readonly string[], gmail: boolean): Address[] {
  const { fields } = readFields(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`))
  const isAlias = (address: Address) => LIVE.includes(address)
  return addressees(candidates(fields), isAlias, { account: ACCOUNT, gmail })
}

function forNobodyElse(lines: readonly string[], gmail: boolean): boolean {
  const named = candidates(readFields(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)).fields)
  const isAlias = (address: Address) => LIVE.includes(address)
  const mailbox = { account: ACCOUNT, gmail }
  return isForNobodyElse(named, addressees(named, isAlias, mailbox), isAlias, mailbox)
}

const delivered = (to: string) => `Delivered-To: ${to}`
const received = (to: string) => `Received: by mx.test with LMTP for <${to}>; now`

describe('a dot form that stands only in Delivered-To', () => {
  for (const [name, lines, expected] of [
    ['counts where the mail names nobody', [delivered(DOTTED)], [DOTTED]],
    ['counts where it names others’ addresses', [delivered(DOTTED), 'To: bob@x.test'], [DOTTED]],
    ['counts where another host has that name', [delivered(DOTTED), 'To: annlee@x.test'], [DOTTED]],
    ['counts beside a longer name', [delivered(DOTTED), 'To: annleex@mail.test'], [DOTTED]],
    ['is no proof beside a tagged alias in To', [delivered(DOTTED), `To: ${X}`], [X]],
    ['nor beside one in Cc', [delivered(DOTTED), `Cc: ${X}`], [X]],
    ['nor beside one in X-Original-To', [delivered(DOTTED), `X-Original-To: ${X}`], [X]],
    ['nor beside one that it was received for', [delivered(DOTTED), received(X)], [X]],
    ['nor beside another dot form', [delivered(DOTTED), `To: ${OTHER}`], [OTHER]],
    ['nor beside the bare account', [delivered(DOTTED), 'To: annlee@mail.test'], []],
    ['nor beside the account as it is spelled', [delivered(DOTTED), `To: Ann <${ACCOUNT}>`], []],
    ['nor beside a tag that is nobody’s', [delivered(DOTTED), 'To: annlee+q@mail.test'], []],
    ['counts where To has it, too', [delivered(DOTTED), `To: ${DOTTED}, ${X}`], [DOTTED, X]],
    ['counts where it was received for it', [delivered(DOTTED), received(DOTTED)], [DOTTED]],
    ['while a tag there always counts', [delivered(Y), `To: ${X}`], [Y, X]],
  ] as const) {
    test(name, () => expect(addresseesOf(lines, true)).toEqual(expected))
  }
})

describe('where each recipient has a copy of his own', () => {
  for (const [name, lines, expected] of [
    ['a hidden one is not told to who is named', [delivered(Y), received(Y), `To: ${X}`], [Y]],
    ['who is named has his own copy', [delivered(X), `To: ${X}, ${Y}`], [X]],
    ['the original recipient counts as well', [`X-Original-To: ${Y}`, `To: ${X}`], [Y]],
    [
      'also above an account that it was delivered to',
      [`X-Original-To: ${Y}`, delivered(ACCOUNT), `To: ${X}`],
      [Y],
    ],
    ['also below it', [delivered(ACCOUNT), `X-Original-To: ${Y}`, `To: ${X}`], [Y]],
    ['the upper one counts of two', [delivered(Y), `X-Original-To: ${X}`], [Y]],
    [
      'the topmost is the server’s, those below are the sender’s',
      [delivered(Y), delivered(X)],
      [Y],
    ],
    ['all count where the topmost is the account', [delivered(ACCOUNT), `To: ${X}, ${Y}`], [X, Y]],
    [
      'and where it is the account, one below it is one of all',
      [delivered(ACCOUNT), delivered(Y), `To: ${X}`],
      [Y, X],
    ],
    ['all count where nothing tells whose it is', [`To: ${X}`, `Cc: ${Y}`], [X, Y]],
    [
      'a dot form that is no proof does not count here',
      [delivered(DOTTED), `To: ${X}, ${Y}`],
      [X, Y],
    ],
  ] as const) {
    test(name, () => expect(addresseesOf(lines, false)).toEqual(expected))
  }

  test('which Gmail does not do: there all count that are named', () => {
    expect(addresseesOf([delivered(Y), `To: ${X}`], true)).toEqual([Y, X])
  })
})

describe('whether a mail is for nobody else than those found', () => {
  const many = Array.from({ length: 1_000 }, (_, number) => `n${number}@x.test`).join(', ')
  for (const [name, lines, gmail, expected] of [
    ['it is', [`To: ${X}, ${Y}, bob@x.test`], true, true],
    ['it is where the others have copies of their own', [delivered(X), `To: ${Y}`], false, true],
    ['it is not where a dot form is no proof', [delivered(DOTTED), `To: ${X}`], true, false],
    ['nor where such a form is the copy’s own', [delivered(DOTTED), `To: ${X}`], false, false],
    ['nor where it names more than are read', [`To: ${X}, ${many}, ${Y}`], true, false],
  ] as const) {
    test(name, () => expect(forNobodyElse(lines, gmail)).toBe(expected))
  }
})
