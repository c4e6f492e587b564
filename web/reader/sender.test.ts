import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { domainOf, doubtful, verdictOf, written } from './sender.ts'

const shown = (name: string, address: string) => {
  const { title, address: behind, claims } = written(name, address)
  return [title, behind, claims]
}
const EVIL = 'x@evil.test'

describe('a sender is written', () => {
  for (const [name, given, address, expected] of [
    ['with his name first', 'Ann', 'ann@a.test', ['Ann', 'ann@a.test', undefined]],
    [
      'by his address where he gives no name',
      '',
      'ann@a.test',
      ['ann@a.test', undefined, undefined],
    ],
    [
      'once where the name is the address',
      'Ann@A.test',
      'ann@a.test',
      ['ann@a.test', undefined, undefined],
    ],
    [
      'once where it stands in quotes',
      "'ann@a.test'",
      'ann@a.test',
      ['ann@a.test', undefined, undefined],
    ],
    ['by his name where there is no address', 'Ann', '', ['Ann', undefined, undefined]],
    [
      'by his address where the name is another',
      'pay@bank.test',
      EVIL,
      [EVIL, undefined, 'pay@bank.test'],
    ],
    [
      'so too with the name around it',
      'Bank <pay@bank.test>',
      EVIL,
      [EVIL, undefined, 'Bank <pay@bank.test>'],
    ],
    [
      'so too where the @ is a wide one',
      'pay＠bank.test',
      EVIL,
      [EVIL, undefined, 'pay＠bank.test'],
    ],
    [
      'so too where the @ is a word',
      'pay (at) bank.test',
      EVIL,
      [EVIL, undefined, 'pay (at) bank.test'],
    ],
    ['so too where the name is a place', 'bank.test', EVIL, [EVIL, undefined, 'bank.test']],
    [
      'so too where a place is among words',
      'Help of bank.test team',
      EVIL,
      [EVIL, undefined, 'Help of bank.test team'],
    ],
    ['with a name that is his own place', 'evil.test', EVIL, ['evil.test', EVIL, undefined]],
    [
      'with a name that is the place above his',
      'evil.test',
      'x@mail.evil.test',
      ['evil.test', 'x@mail.evil.test', undefined],
    ],
    ['with a name that has dots', 'J. R. Smith Jr.', EVIL, ['J. R. Smith Jr.', EVIL, undefined]],
    [
      'without marks that take no room',
      'A\u200bn\u202En',
      'ann@a.test',
      ['Ann', 'ann@a.test', undefined],
    ],
    [
      'by his address where the name is only such marks',
      '\u200b\u3164',
      EVIL,
      [EVIL, undefined, undefined],
    ],
  ] as const) {
    test(name, () => assert.deepEqual(shown(given, address), expected))
  }
})

const OWN = 'ann@sender.test'

describe('a name that looks like somebody else', () => {
  for (const name of [
    ...['paypal.com', 'paypal.com.', 'paypal\u2024com', 'paypal。com', 'paypal．com', 'paypal·com'],
    ...[
      'paypal.com-support',
      'paypal.com!',
      'paypal.com_',
      '…paypal.com',
      'a..paypal.com',
      '-paypal.com',
    ],
    ...[
      'PayPal.Com team',
      'https://paypal.com/x',
      'paypal.com.evil',
      'paypal.соm',
      'paypal.сом',
      'bank.cóm',
    ],
    ...['bank.co.uk', 'bank.de', 'x.com', 'банк.рф', 'bank.xn--p1ai', 'bank.test', 'bank.example'],
    ...['pay@bank', 'pay＠bank', 'pay[at]bank', 'pay @ bank.test', 'xann@sender.test'],
    ...[
      'ann@sender.test.evil',
      'Ann (ann@sender.test) of pay@bank.test',
      'ann@sender.test, paypal.com',
    ],
  ]) {
    test(name, () => assert.equal(written(name, OWN).claims, name))
  }
})

describe('a name that looks like nobody else', () => {
  for (const name of [
    ...['Node.js Weekly', 'E.ON Energie', 'J.R.R.Tolkien', 'Ann @ Acme', 'Ann (ann@sender.test)'],
    ...[
      "Ann 'ann@sender.test'",
      'Ann <ANN@sender.test>',
      'sender.test',
      'Sender.Test!',
      '@ann',
      'Ann.',
    ],
    ...[
      'Müller GmbH & Co.KG',
      'Web 2.0',
      'Иван.Петров',
      'St.Pauli',
      'Ph.D. Ann',
      'Ann...',
      'A.B',
      '.',
      '@',
    ],
  ]) {
    test(name, () => assert.equal(written(name, OWN).claims, undefined))
  }
})

for (const [name, address, expected] of [
  ['a domain is what stands behind the last @', '"a@b"@c.test', 'c.test'],
  ['a domain of other letters is spelt as the DNS has it', 'a@bücher.test', 'xn--bcher-kva.test'],
  ['what is no domain stays as it is', 'a@[', '['],
] as const) {
  test(name, () => assert.equal(domainOf(address), expected))
}

for (const [dmarc, expected] of [
  ['pass', 'proven'],
  ['fail', 'forged'],
  ['none', 'unproven'],
  ['temperror', 'unproven'],
  ['permerror', 'unproven'],
] as const) {
  test(`DMARC ${dmarc} is ${expected}`, () => assert.equal(verdictOf({ dmarc }), expected))
}

for (const [name, given, dmarc, expected] of [
  ['a proven sender is not doubtful', 'Ann', 'pass', false],
  ['one of whom nobody knows is not', 'Ann', 'none', false],
  ['one who was not checked is not', 'Ann', undefined, false],
  ['a forged one is', 'Ann', 'fail', true],
  ['one with the address of another for a name is', 'pay@bank.test', 'pass', true],
] as const) {
  test(name, () => {
    const auth = dmarc ? ({ spf: 'none', dkim: 'none', dmarc } as const) : null
    assert.equal(doubtful({ sender_name: given, sender_email: EVIL, auth }), expected)
  })
}
