import { describe, expect, test } from 'vitest'
import { displaySender, domainOf, isSuspicious } from './sender-display.ts'

const OTHER = 'x@evil.test'

describe('a sender is displayed', () => {
  for (const [how, name, address, expected] of [
    ['by name, with the address behind', 'Ann', 'ann@a.test', ['Ann', 'ann@a.test']],
    ['by address if there is no name', '', 'ann@a.test', ['ann@a.test', undefined]],
    ['by name if there is no address', 'Ann', '', ['Ann', undefined]],
    ['as nobody if there is neither', '', '', ['', undefined]],
    ['once if the name is the address', 'Ann@A.test', 'ann@a.test', ['ann@a.test', undefined]],
    ['once if it is quoted', "'ann@a.test'", 'ann@a.test', ['ann@a.test', undefined]],
    ['once if it is in brackets', '<ann@a.test>', 'ann@a.test', ['ann@a.test', undefined]],
    ['by name if that is the own domain', 'evil.test', OTHER, ['evil.test', OTHER]],
    ['by name if that is a parent', 'a.test', 'x@mail.a.test', ['a.test', 'x@mail.a.test']],
    [
      'by an IDN name',
      'bücher.test',
      'x@xn--bcher-kva.test',
      ['bücher.test', 'x@xn--bcher-kva.test'],
    ],
    ['without zero-width characters', 'A\u200bn\u034f\u{e0041}n', OTHER, ['Ann', OTHER]],
    ['without direction overrides', 'A\u202en\u2066n\u061c', OTHER, ['Ann', OTHER]],
    ['without control characters', 'A\u0000n\u0085n\u009b', OTHER, ['Ann', OTHER]],
    [
      'by address if nothing of the name is visible',
      '\u200b\u3164\u2800',
      OTHER,
      [OTHER, undefined],
    ],
    ['with a clean address, too', 'Ann', 'a\u202e\u200bnn@a.test', ['Ann', 'ann@a.test']],
    ['with emoji as they are', 'Ann ❤️', OTHER, ['Ann ❤️', OTHER]],
  ] as const) {
    test(how, () => {
      const { title, address: behind, claimedName } = displaySender(name, address)
      expect([title, behind, claimedName]).toStrictEqual([...expected, undefined])
    })
  }
})

const OWN = 'ann@sender.test'

describe('a name that looks like another address becomes a claim, and the title is the address', () => {
  for (const [kind, names] of [
    ['domain', ['paypal.com', 'paypal.com.', 'www.paypal.com', 'PayPal.Com team', '…paypal.com']],
    [
      'with signs',
      ['paypal.com-support', 'paypal.com!', 'paypal.com_', 'a..paypal.com', '-paypal.com'],
    ],
    ['URL', ['https://paypal.com/x', 'http:paypal.com', 'paypal.com:443', "'paypal.com'"]],
    ['among words', ['Help of bank.test team', 'Ann (ann@sender.test) of pay@bank.test']],
    ['above the own domain', ['paypal.com.sender.test', 'paypal.com.evil', 'login.sender.test']],
    [
      'dots',
      [
        'paypal\u2024com',
        'paypal\uff0ecom',
        'paypal\u3002com',
        'paypal\uff61com',
        'paypal\ufe52com',
      ],
    ],
    [
      'middle dots',
      [
        'paypal\u00b7com',
        'paypal\u2027com',
        'paypal\u30fbcom',
        'paypal\uff65com',
        'paypal\u2022com',
      ],
    ],
    [
      'more dots',
      [
        'paypal\u22c5com',
        'paypal\u0387com',
        'paypal\u06d4com',
        'paypal\u0660com',
        'paypal\ua4f8com',
      ],
    ],
    ['commas', ['paypal,com', 'paypal\u201acom support']],
    ['marks', ['paypal.\u0301com', 'paypal.c\u0336om', 'bank.cóm', 'paypal.c\ufe0fom']],
    [
      'letters',
      ['paypal.соm', 'paypal.сом', 'paypal.cοm', 'paypal.ｃｏｍ', 'paypal.ᴄom', 'paypal.c0m'],
    ],
    [
      'encoded',
      ['paypal%2Ecom', 'paypal&#46;com', 'pay%40bank', 'pay&#x40;bank', 'pay&commat;bank'],
    ],
    [
      'spelled',
      ['paypal[.]com', 'paypal (dot) com', 'pay (at) bank.test', 'pay[at]bank', 'pay{at}bank'],
    ],
    ['IDN', ['bücher.de', 'банк.рф', 'аррӏе.com', 'bank.xn--p1ai', 'xn--80ak6aa92e.com']],
    ['countries', ['bank.co.uk', 'bank.de', 'x.com', 'bank.test', 'bank.example']],
    [
      'addresses',
      ['pay@bank', 'pay\uff20bank', 'pay\ufe6bbank', 'pay\u24d0bank', 'Bank <pay@bank.test>'],
    ],
    [
      'near the own address',
      ['xann@sender.test', 'ann@sender.test.evil', 'ann@sender.test, paypal.com'],
    ],
  ] as const) {
    for (const name of names) {
      test(`${kind}: ${name}`, () => {
        const expected = { title: OWN, address: undefined, claimedName: name }
        expect(displaySender(name, OWN)).toStrictEqual(expected)
      })
    }
  }

  for (const [name, seen] of [
    ['pay\u200bpal.c\u2060om', 'paypal.com'],
    ['paypal.\u{e0020}com', 'paypal.com'],
    ['pay\u00ad@ba\u200dnk', 'pay@bank'],
    ['\u202epaypal.com\u202c', 'paypal.com'],
    ['paypal\u0000.com', 'paypal.com'],
  ] as const) {
    test(`with invisible characters: ${JSON.stringify(name)}`, () =>
      expect(displaySender(name, OWN).claimedName).toBe(seen))
  }

  test('even if the address is invalid', () => {
    expect(displaySender('bank.test', 'x@[').claimedName).toBe('bank.test')
  })
})

describe('an ordinary name stays the title', () => {
  for (const name of [
    ...[
      'Node.js Weekly',
      'Müller GmbH & Co.KG',
      'E.ON Energie',
      'J.R.R.Tolkien',
      'J. R. Smith Jr.',
    ],
    ...[
      'Ann @ Acme',
      '@ann',
      '@',
      '.',
      'A.B',
      'Ann.',
      'Ann...',
      'Web 2.0',
      'Ph.D. Ann',
      'St.Pauli',
    ],
    ...[
      'Ann (ann@sender.test)',
      "Ann 'ann@sender.test'",
      'Ann <ANN@sender.test>',
      'ａnn＠sender.test',
    ],
    ...[
      'sender.test',
      'Sender.Test!',
      'Иван.Петров',
      '田中・太郎',
      'Tom • Jerry',
      'Doe,Jo',
      '٢٠ نقطة',
    ],
    ...['100%', 'A & B', 'Microsoft .NET', 'Series 1.0M', 'Ann [at work]', 'उदाहरण'],
  ]) {
    test(name, () => {
      const expected = { title: name, address: OWN, claimedName: undefined }
      expect(displaySender(name, OWN)).toStrictEqual(expected)
    })
  }
})

for (const [name, address, expected] of [
  ['a domain is what follows the last @', '"a@b"@c.test', 'c.test'],
  ['an IDN domain is in its ASCII form', 'a@bücher.test', 'xn--bcher-kva.test'],
  ['what is not a domain stays as it is', 'a@[', '['],
] as const) {
  test(name, () => expect(domainOf(address)).toBe(expected))
}

for (const [name, given, dmarc, expected] of [
  ['a sender that DMARC proves is not suspicious', 'Ann', 'pass', false],
  ['a sender without DMARC is not', 'Ann', 'none', false],
  ['a sender that was not checked is not', 'Ann', undefined, false],
  ['a sender that fails DMARC is', 'Ann', 'fail', true],
  ['a sender with a claimed name is, whatever DMARC says', 'pay@bank.test', 'pass', true],
] as const) {
  test(name, () => expect(isSuspicious(given, OTHER, dmarc && { dmarc })).toBe(expected))
}
