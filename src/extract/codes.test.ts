import { describe, expect, test } from 'vitest'
import { findCodes } from './codes.ts'
import { visibleTextOfHtml, visibleTextOfPlain } from './visible-text.ts'

const NOBODY = { senderName: '', senderHost: '', subject: '', otpToken: '' }
const inText = (text: string, letter = {}) =>
  findCodes({ ...NOBODY, texts: [visibleTextOfPlain(text).text], ...letter })
const inHtml = (html: string, letter = {}) =>
  findCodes({ ...NOBODY, texts: [visibleTextOfHtml(html).text], ...letter })
const values = (codes: { value: string }[]) => codes.map(({ value }) => value)

describe('a code is given as it is typed', () => {
  for (const [name, text, value, kind] of [
    ['digits in one piece', 'Your code is 482913', '482913', 'digits'],
    ['digits in groups lose the blank', 'Your code is 482 913', '482913', 'digits'],
    ['and the hyphen', 'Your code is 482-913', '482913', 'digits'],
    ['and a dash', 'Your code is 4829–1377', '48291377', 'digits'],
    ['digits apart are one code', 'Your code:\n\n4 8 2 9 1 3', '482913', 'digits'],
    ['zeros at the start stay', 'Your code is 004829', '004829', 'digits'],
    ['Arabic digits become ASCII', 'رمز التحقق: ٤٨٢٩١٣', '482913', 'digits'],
    ['so do Persian ones', 'رمز التحقق: ۴۸۲۹۱۳', '482913', 'digits'],
    ['and full-width ones', '验证码：４８２９１３', '482913', 'digits'],
    ['letters and digits', 'Your code: R7KQ2', 'R7KQ2', 'letters_and_digits'],
    ['with letters the hyphen stays', 'Code: 7F3K-9QXZ', '7F3K-9QXZ', 'letters_and_digits'],
    ['with letters a blank goes', 'Your code:\n\n7F3K 9QXZ', '7F3K9QXZ', 'letters_and_digits'],
    ['small letters stay small', 'Code: k3x9p2', 'k3x9p2', 'letters_and_digits'],
    ['letters alone', 'Your code:\n\nKXWPTM', 'KXWPTM', 'letters_and_digits'],
    ['between stars', 'Your code is *482913*', '482913', 'digits'],
    ['a year, where it is named', 'Your PIN code is 2031. Enter it now.', '2031', 'digits'],
  ] as const) {
    test(name, () => {
      expect(inText(text)[0]).toMatchObject({ value, kind })
    })
  }

  for (const [name, letter, value] of [
    ['the letter of the sender is not typed', { senderName: 'Gazelle' }, '482913'],
    ['nor is that of its host', { senderHost: 'mail.gazelle.example' }, '482913'],
    ['any other letter is', { senderName: 'Kestrel', senderHost: 'kestrel.example' }, 'G-482913'],
  ] as const) {
    test(name, () => {
      expect(values(inText('G-482913 is your verification code', letter))).toEqual([value])
    })
  }
})

describe('where a code stands', () => {
  test('what the OTP-Token header says counts most where the mail says nothing else', () => {
    const sure = [{ value: '482913', confidence: 0.99 }]
    expect(inText('Hello', { otpToken: ' 482913 ' })).toMatchObject(sure)
    expect(inText('Your code is 482 913', { otpToken: '482913' })).toMatchObject(sure)
  })

  test('where the mail says another code, that one: no signature need cover the header', () => {
    for (const text of ['Your verification code is 482913', '@shop.example #482913']) {
      expect(values(inText(text, { otpToken: '66021984' }))).toEqual(['482913', '66021984'])
    }
  })

  test('an OTP-Token that nobody could type is none', () => {
    expect(inText('Hello', { otpToken: '<script>alert(1)</script>' })).toEqual([])
  })

  test('the last line may bind a code to its host', () => {
    expect(inText('Hello\n\n@shop.example #48291\n')).toMatchObject([
      { value: '48291', confidence: 0.99 },
    ])
    expect(inText('@shop.example #48291\n\nHello')).toEqual([])
  })

  test('the subject alone is enough', () => {
    expect(values(inText('', { subject: '482913 is your code' }))).toEqual(['482913'])
  })

  test('a subject that names a code helps what stands alone in the text', () => {
    const text = 'Type this in:\n\n48291\n\nBye'
    const [without, named] = ['Hello', 'Your verification code'].map(
      (subject) => inText(text, { subject })[0]?.confidence ?? 0,
    )
    expect(named).toBeGreaterThan(without ?? 0)
  })

  for (const [name, html] of [
    ['in a box of its own', '<p>Your code</p><div style="font-size:32px">482913</div>'],
    ['a cell for each digit', `<p>Your code:</p><tr>${cells('482913')}</tr>`],
    ['a dash between the cells', `<p>Your code:</p><tr>${cells('482-913')}</tr>`],
    ['a span for each digit', `<p>Your code:</p><p>${spans('482913')}</p>`],
    ['in the cell beside its name', '<tr><td>Code</td><td>482913</td></tr>'],
    ['with joiners inside', '<p>Your code: 4&zwnj;8&zwnj;2&zwnj;9&zwnj;1&zwnj;3</p>'],
    ['its name in entities', '<p>Votre cod&#101; de v&eacute;rification&nbsp;: 482913</p>'],
    ['in a link', '<p>Your code is <a href="https://a.test">482913</a></p>'],
  ] as const) {
    test(name, () => expect(values(inHtml(html))).toEqual(['482913']))
  }

  test('text and HTML say the same code once', () => {
    const texts = [
      visibleTextOfHtml('<p>Your code is <b>482913</b></p>').text,
      'Your code is 482913',
    ]
    expect(values(findCodes({ ...NOBODY, texts }))).toEqual(['482913'])
  })

  test('a sentence that was wrapped is one sentence', () => {
    const text =
      'To finish, please enter the verification code for your new account,\nwhich is 482913.'
    expect(values(inText(text))).toEqual(['482913'])
  })
})

const NAMED = 'Never share your code with anyone.'

describe('what is no code', () => {
  for (const [name, text] of [
    ['a year', 'The code of 2026'],
    ['a date', 'Your code was sent on 2026-03-14, 14.03.2026 and 03/14/2026'],
    ['a time', 'The code expires at 10:45 or 11h20'],
    ['how long it lasts', 'Your code expires in 1440 minutes'],
    ['a price', 'Code and price: $1250, 1250 €, EUR 1250, 1.250,00 and R$ 1250'],
    ['a share', 'Code coverage is 1234%'],
    ['a telephone number', 'Code? Call +1 415 555 0100, (212) 555-0187 or 0711 555 0184'],
    ['a number of an order', 'Your code is on its way. Order 104882, order no. 104883, #104884'],
    ['an invoice', 'Invoice: 204418'],
    ['a parcel', 'Tracking number: 48291377'],
    ['a booking', 'Booking code: X7KQ2P'],
    ['a post code', 'Post code: 94105. Zip code 94110. Código postal: 28013'],
    ['a discount', 'Use code SPRING20 at checkout. Promo code: 482913'],
    ['the end of a card', 'The code for the card ending in 4471 and *4471 and ••••4471'],
    ['a street', 'The code is in the mail. 1482 Maple Avenue, Portland, OR 97205'],
    ['a version', 'Source code 3.18.2045 and build 22631'],
    ['an address in the net', 'The code came from 198.51.100.24 and 2001:db8:4471::9'],
    ['a number in a link', 'Your code: https://a.test/code/482913?code=482914 www.a.test/482915'],
    ['a mail address', 'Your code goes to 482913@a.test and ann.482913@a.test'],
    ['a hex colour', 'Colour code #482913'],
    ['a heading in capitals', 'Your code\n\nIMPORTANT\n\nBELOW'],
    ['a number below the name of another', 'Order number\n482913'],
    ['one beside no name', 'We are 482913 friends'],
    ['an account', 'Account: 4829 1377 2046 9911, IBAN DE89 3704 0044 0532 0130 00'],
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

describe('however much there is', () => {
  test('at most five codes are given, the likeliest first', () => {
    const lines = Array.from({ length: 20 }, (_, at) => `Your code is ${482_900 + at}`)
    const codes = inText(['482913 is here too', ...lines].join('\n'))
    expect(codes).toHaveLength(5)
    const sure = codes.map(({ confidence }) => confidence)
    expect(sure).toEqual(sure.toSorted((a, b) => b - a))
  })

  test('what lies beyond the first 200,000 characters is not read', () => {
    expect(inText(`${'word '.repeat(39_000)}\nYour code is 482913`)).toHaveLength(1)
    expect(inText(`${'word '.repeat(41_000)}\nYour code is 482913`)).toEqual([])
  })

  test('a confidence is between a half and one', () => {
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

function spans(text: string): string {
  return [...text].map((one) => `<span>${one}</span>`).join(' ')
}
