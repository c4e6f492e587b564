import { describe, expect, test } from 'vitest'
import { isSlowerThan } from '../../test/kit/mail/growth.ts'
import { findCodes } from './codes.ts'
import { languagesOf } from './languages.ts'
import { type VisibleText, visibleTextOfHtml, visibleTextOfPlain } from './visible-text.ts'

const NOBODY = { senderName: '', senderAddress: '', subject: '', otpToken: '' }
const inVisible = ({ text, large }: VisibleText, letter: { subject?: string } = {}) => {
  const languages = languagesOf([letter.subject ?? '', text])
  return findCodes({ ...NOBODY, texts: [text], largeTexts: large, languages, ...letter })
}
const inText = (text: string, letter = {}) => inVisible(visibleTextOfPlain(text), letter)
const inHtml = (html: string, letter = {}) => inVisible(visibleTextOfHtml(html), letter)
const values = (codes: { value: string }[]) => codes.map(({ value }) => value)

describe('a code is returned as it is typed', () => {
  for (const [name, text, value, kind] of [
    ['digits', 'Your code is 482913', '482913', 'digits'],
    ['grouped digits lose the blank', 'Your code is 482 913', '482913', 'digits'],
    ['grouped digits lose the hyphen', 'Your code is 482-913', '482913', 'digits'],
    ['grouped digits lose the dash', 'Your code is 4829–1377', '48291377', 'digits'],
    ['grouped digits lose the dot', 'Your code is 482.913', '482913', 'digits'],
    ['nine digits after a name', 'Access code: 482 913 605', '482913605', 'digits'],
    ['spaced digits are one code', 'Your code:\n\n4 8 2 9 1 3', '482913', 'digits'],
    ['leading zeros are kept', 'Your code is 004829', '004829', 'digits'],
    ['Arabic digits become ASCII', 'رمز التحقق: ٤٨٢٩١٣', '482913', 'digits'],
    ['Persian digits become ASCII', 'رمز التحقق: ۴۸۲۹۱۳', '482913', 'digits'],
    ['Devanagari digits become ASCII', 'आपका कोड ४८२९१३ है', '482913', 'digits'],
    ['Bengali digits become ASCII', 'আপনার কোড: ৪৮২৯১৩', '482913', 'digits'],
    ['Thai digits become ASCII', 'รหัสของคุณคือ ๔๘๒๙๑๓', '482913', 'digits'],
    ['full-width digits become ASCII', '验证码：４８２９１３', '482913', 'digits'],
    ['letters and digits', 'Your code: R7KQ2', 'R7KQ2', 'letters_and_digits'],
    ['with letters, the hyphen is kept', 'Code: 7F3K-9QXZ', '7F3K-9QXZ', 'letters_and_digits'],
    [
      'with letters, the blank is removed',
      'Your code:\n\n7F3K 9QXZ',
      '7F3K9QXZ',
      'letters_and_digits',
    ],
    ['two words', 'Pairing code: coral-walnut\nEnter it.', 'coral-walnut', 'words'],
    ['words keep their blanks', 'Your code:\n\nmaple rocket cup', 'maple rocket cup', 'words'],
    ['words keep their hyphens', 'Your code:\n\nsmooth-otter-cabin', 'smooth-otter-cabin', 'words'],
    ['lower-case letters', 'Your code: qvmx-tzap', 'qvmx-tzap', 'letters_and_digits'],
    ['case is kept', 'Code: k3x9p2', 'k3x9p2', 'letters_and_digits'],
    ['letters alone', 'Your code:\n\nKXWPTM', 'KXWPTM', 'letters_and_digits'],
    ['between stars', 'Your code is *482913*', '482913', 'digits'],
    ['before a comma and a number', '您的验证码为482913,5分钟内有效', '482913', 'digits'],
    ['after a blank, too', '您的验证码是 902817,5分钟内有效', '902817', 'digits'],
    ['after a round amount', 'Enter the code to send 12500 to Ann, 482913.', '482913', 'digits'],
    ['above another digit', 'Your code:\n4 8 2 9 1 3\n5 minutes left', '482913', 'digits'],
    ['Vietnamese without marks', 'Ma moi cua ban: 482913', '482913', 'digits'],
    ['an authorization code', 'Your authorization code: 482913', '482913', 'digits'],
    ['a year, if labelled as a code', 'Your PIN code is 2031. Enter it now.', '2031', 'digits'],
  ] as const) {
    test(name, () => {
      expect(inText(text)[0]).toMatchObject({ value, kind })
    })
  }

  for (const [name, letter, value] of [
    ['a prefix that abbreviates the sender is removed', { senderName: 'Gazelle' }, '482913'],
    [
      'a prefix that abbreviates the host is removed',
      { senderAddress: 'no-reply@mail.gazelle.example' },
      '482913',
    ],
    [
      'any other prefix is kept',
      { senderName: 'Kestrel', senderAddress: 'no-reply@kestrel.example' },
      'G-482913',
    ],
  ] as const) {
    test(name, () => {
      expect(values(inText('G-482913 is your verification code', letter))).toEqual([value])
    })
  }
})

describe('a code is found', () => {
  test('without a prefix that the sentence names', () => {
    expect(values(inText('GZ-482913 is your Gazelle code'))).toEqual(['482913'])
    expect(values(inText('Your Gazelle code is GAZELLE-4829137'))).toEqual(['4829137'])
  })

  test('beside a number in the name of the sender', () => {
    const text = 'Your Hotel 1881 code is 482913'
    expect(values(inText(text, { senderName: 'Hotel 1881' }))).toEqual(['482913'])
  })

  test('alone below an order if the subject announces a code', () => {
    const subject = 'Your pickup code'
    expect(values(inText('Order 104882\n\n4829', { subject }))).toEqual(['4829'])
  })

  test('in OTP-Token, with the highest confidence if the mail contains no other code', () => {
    const sure = [{ value: '482913', confidence: 0.99 }]
    expect(inText('Hello', { otpToken: ' 482913 ' })).toMatchObject(sure)
    expect(inText('Your code is 482 913', { otpToken: '482913' })).toMatchObject(sure)
  })

  test('in the text before OTP-Token, which need not be signed', () => {
    for (const text of ['Your verification code is 482913', '@shop.example #482913']) {
      expect(values(inText(text, { otpToken: '66021984' }))).toEqual(['482913', '66021984'])
    }
  })

  test('not in an invalid OTP-Token', () => {
    expect(inText('Hello', { otpToken: '<script>alert(1)</script>' })).toEqual([])
  })

  test('in the last line of an origin-bound code', () => {
    expect(inText('Hello\n\n@shop.example #48291\n')).toMatchObject([
      { value: '48291', confidence: 0.99 },
    ])
    expect(inText('@shop.example #48291\n\nHello')).toEqual([])
  })

  test('in the subject alone', () => {
    expect(values(inText('', { subject: '482913 is your code' }))).toEqual(['482913'])
  })

  test('alone on a line if the subject mentions a code', () => {
    const text = 'Type this in:\n\n48291\n\nBye'
    const [without, named] = ['Hello', 'Your verification code'].map(
      (subject) => inText(text, { subject })[0]?.confidence ?? 0,
    )
    expect(named).toBeGreaterThan(without ?? 0)
  })

  for (const [name, html] of [
    ['in its own box', '<p>Your code</p><div style="font-size:32px">482913</div>'],
    ['in one cell per digit', `<p>Your code:</p><tr>${cells('482913')}</tr>`],
    ['in one block per digit', `<p>Your code:</p>${blocks('482913')}<p>A new one</p>`],
    ['in one table per digit', `<p>Your code:</p><tr>${tables('482913')}</tr>`],
    ['in two cells', '<p>Your code:</p><tr><td>482</td><td>913</td></tr>'],
    ['in cells with a dash between', `<p>Your code:</p><tr>${cells('482-913')}</tr>`],
    ['in one span per digit', `<p>Your code:</p><p>${spans('482913')}</p>`],
    ['in the cell next to its label', '<tr><td>Code</td><td>482913</td></tr>'],
    ['with joiners inside', '<p>Your code: 4&zwnj;8&zwnj;2&zwnj;9&zwnj;1&zwnj;3</p>'],
    [
      'after a label with character references',
      '<p>Votre cod&#101; de v&eacute;rification&nbsp;: 482913</p>',
    ],
    ['in unknown elements', '<p>Your code is <x-part>482</x-part><title-part>913</title-part>'],
    ['in a link', '<p>Your code is <a href="https://a.test">482913</a></p>'],
  ] as const) {
    test(name, () => expect(values(inHtml(html))).toEqual(['482913']))
  }

  test('once if it is in both text and HTML', () => {
    const texts = [
      visibleTextOfHtml('<p>Your code is <b>482913</b></p>').text,
      'Your code is 482913',
    ]
    const languages = languagesOf(texts)
    const codes = findCodes({ ...NOBODY, texts, largeTexts: [], languages })
    expect(values(codes)).toEqual(['482913'])
  })

  test('in a wrapped sentence', () => {
    const text =
      'To finish, please enter the verification code for your new account,\nwhich is 482913.'
    expect(values(inText(text))).toEqual(['482913'])
  })
})

const NAMED = 'Never share your code with anyone.'

describe('not a code:', () => {
  for (const [name, text] of [
    ['a year', 'The code of 2026'],
    ['a date', 'Your code was sent on 2026-03-14, 14.03.2026 and 03/14/2026'],
    ['a time', 'The code expires at 10:45 or 11h20'],
    ['a duration', 'Your code expires in 1440 minutes'],
    ['a price', 'Code and price: $1250, 1250 €, EUR 1250, 1.250,00 and R$ 1250'],
    ['a percentage', 'Code coverage is 1234%'],
    ['a phone number', 'Code? Call +1 415 555 0100, (212) 555-0187 or 0711 555 0184'],
    ['an order number', 'Your code is on its way. Order 104882, order no. 104883, #104884'],
    ['an invoice', 'Invoice: 204418'],
    ['a tracking number', 'Tracking number: 48291377'],
    ['a booking', 'Booking code: X7KQ2P'],
    ['a postal code', 'Post code: 94105. Zip code 94110. Código postal: 28013'],
    ['a discount code', 'Use code SPRING20 at checkout. Promo code: 482913'],
    ['the last digits of a card', 'The code for the card ending in 4471 and *4471 and ••••4471'],
    ['a street', 'The code is in the mail. 1482 Maple Avenue, Portland, OR 97205'],
    ['a version', 'Source code 3.18.2045 and build 22631'],
    ['an IP address', 'The code came from 198.51.100.24 and 2001:db8:4471::9'],
    ['a number in a URL', 'Your code: https://a.test/code/482913?code=482914 www.a.test/482915'],
    ['a mail address', 'Your code goes to 482913@a.test and ann.482913@a.test'],
    ['a hex colour', 'Colour code #482913'],
    ['a heading in capitals', 'Your code\n\nIMPORTANT\n\nBELOW'],
    ['a number below another label', 'Order number\n482913'],
    ['an unlabelled number', 'We are 482913 friends'],
    ['an account', 'Account: 4829 1377 2046 9911, IBAN DE89 3704 0044 0532 0130 00'],
    ['hyphenated prose', 'The code is easy-to-use, not-for-profit and state-of-the-art'],
    ['two-word adjectives', 'The code is open-source. Our code: well-tested, read-only.'],
    ['a sentence without capitals', 'About your code:\n\nsee our help page'],
    ['words in capitals', 'The secret code is RHYTHM. Secret code: TOP-GUN.'],
    ['a dotted price, version or date', 'Code: 12.50, 12.408, 14.03.26 and 3.18.204'],
    ['nine digits that nobody calls a code', 'Use 482913605 for transfers'],
    ['a law', 'Civil Code 1714, Labor Code section 2802'],
    ['a standard', 'Code: ISO 27001, EN 13485'],
    ['a flight', 'Flight code: SK1482'],
    ['a parcel', 'Parcel code PP482913, parcel reference: 9920418'],
    ['a code of a program', 'Exit code 4829. Stop code: 0000007B. Code 0x80070005'],
    ['pages', 'Pages with code:\n\n1 2 3 4 5'],
    ['an amount before the code is mentioned', 'You received 4500, do not share your code'],
    ['words that nobody calls a code', 'Drive along smooth-otter-light-cabin'],
    ['a count', 'The code has 48291 lines, 12500 users and 5000 km'],
  ] as const) {
    test(name, () => expect(inText(`${NAMED}\n\n${text}\n\n${NAMED}`)).toEqual([]))
  }

  test('colours and numbers in a style', () => {
    const html =
      '<style>.code{color:#482913}</style><p style="width:482914px">Your code is in the app</p>' +
      '<!-- code: 482915 --><script>code = 482916</script><title>code 482917</title>'
    expect(inHtml(html)).toEqual([])
  })
})

const AUTOMATIC = { senderAddress: 'no-reply@a.test' }

describe('in a language without a table, a code is found', () => {
  for (const [name, codes] of [
    ['alone on its line', inText('Sæl Anna\n\n482913\n\nKveðja', AUTOMATIC)],
    [
      'in a large font',
      inHtml('<p>Sæl! <b style="font-size:28px">482913</b> er það.</p>', AUTOMATIC),
    ],
    ['in a heading', inHtml('<p>Sæl Anna</p><h1>482 913</h1>', AUTOMATIC)],
  ] as const) {
    test(name, () => expect(values(codes)).toEqual(['482913']))
  }
})

describe('without words for a code, a number is not a code', () => {
  for (const [name, codes] of [
    ['from a person', inText('Sæl Anna\n\n482913\n\nKveðja', { senderAddress: 'jon@a.test' })],
    ['beside another one', inText('482913\n\nSæl Anna\n\n550821', AUTOMATIC)],
    ['in a long mail', inText(`482913\n\n${'orð og fleiri '.repeat(100)}`, AUTOMATIC)],
    ['in small print', inHtml('<p>Sæl! <b>482913</b> er það.</p>', AUTOMATIC)],
    ['that is a year', inText('Sæl Anna\n\n2027\n\nKveðja', AUTOMATIC)],
    ['below a word for an order', inText('Vielen Dank\n\nIhre Bestellung\n\n482913', AUTOMATIC)],
  ] as const) {
    test(name, () => expect(codes).toEqual([]))
  }
})

test('a number that is an order in one place is a code in none', () => {
  const text = 'Enter the code below.\n\n482913\n\nOrder number: 482913'
  expect(inText(text)).toEqual([])
})

test('the authorization code of a receipt is not a code', () => {
  expect(inText('Your receipt\nCard **** 4471\nTotal $12.50\nAuth code: 048213')).toEqual([])
})

test('the PIN of a meeting is not a code', () => {
  expect(inText('Join the meeting\nMeeting ID: 845 1234 5678\nPasscode: 482913')).toEqual([])
})

describe('limits', () => {
  test('at most five codes are returned, the most likely first', () => {
    const lines = Array.from({ length: 20 }, (_, at) => `Your code is ${482_900 + at}`)
    const codes = inText(['482913 is here too', ...lines].join('\n'))
    expect(codes).toHaveLength(5)
    const sure = codes.map(({ confidence }) => confidence)
    expect(sure).toEqual(sure.toSorted((a, b) => b - a))
  })

  test('text beyond the first 200,000 characters is ignored', () => {
    expect(inText(`${'word '.repeat(39_000)}\nYour code is 482913`)).toHaveLength(1)
    expect(inText(`${'word '.repeat(41_000)}\nYour code is 482913`)).toEqual([])
  })

  test('the confidence is between 0.5 and 1', () => {
    for (const text of ['code 482913', 'Your code is 482913', 'password: 482913']) {
      for (const { confidence } of inText(text)) {
        expect(confidence).toBeGreaterThanOrEqual(0.5)
        expect(confidence).toBeLessThan(1)
      }
    }
  })
})

function cells(text: string): string {
  return [...text].map((one) => `<td>${one}</td>`).join('')
}

function blocks(text: string): string {
  return [...text].map((one) => `<div>${one}</div>`).join('')
}

function tables(text: string): string {
  return [...text].map((one) => `<td><table><tr><td>${one}</td></tr></table></td>`).join(' ')
}

function spans(text: string): string {
  return [...text].map((one) => `<span>${one}</span>`).join(' ')
}

test('words that only start like known ones cost little more than others', async () => {
  const read = (piece: string) => () => {
    for (let time = 0; time < 5; time += 1) inText(piece.repeat(16_000 / piece.length))
  }
  // 4, and more than 20 if each is compared with all words.
  expect(await isSlowerThan(10, read('is1 '), read('kod1 '))).toBe(false)
})
