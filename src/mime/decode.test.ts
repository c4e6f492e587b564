import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { decodeInSteps, decodeTransfer } from './decode.ts'
import { parseMail } from './parse.ts'

const textOf = (...lines: string[]) => parseMail(Buffer.from(lines.join('\r\n'), 'latin1')).text

describe('text', () => {
  for (const [name, charset, bytes, expected] of [
    ['in UTF-8', 'utf-8', 'gr\xc3\xbcn', 'grün'],
    ['in UTF-8 with a byte order mark', 'UTF-8', '\xef\xbb\xbfgr\xc3\xbcn', 'grün'],
    ['in Latin-1', 'iso-8859-1', 'gr\xfcn', 'grün'],
    ['in Windows-1252 under the name of Latin-1', 'ISO-8859-1', '\x80', '€'],
    ['declared as ASCII, in UTF-8', 'us-ascii', 'gr\xc3\xbcn', 'grün'],
    ['declared as ASCII, in Latin-1', 'us-ascii', 'gr\xfcn', 'grün'],
    ['in a charset that does not exist', 'bogus', 'gr\xc3\xbcn', 'grün'],
    ['in a charset named like a property', '__proto__', 'gr\xfcn', 'grün'],
    ['in UTF-7', 'utf-7', 'gr+APw-n +- +2D3eAA-', 'grün + 😀'],
    ['in UTF-16LE', 'utf-16le', 'g\0r\0', 'gr'],
    ['in big-endian UTF-16 with a byte order mark', 'utf-16', '\xfe\xff\0g\0r', 'gr'],
    ['in Japanese', 'iso-2022-jp', '\x1b$BF|K\\\x1b(B', '日本'],
    ['in Chinese', 'x-gbk', '\xd6\xd0', '中'],
    ['in Korean', 'cp949', '\xc7\xd1', '한'],
    ['in overlong UTF-8', 'utf-8', '\xc0\xaf', '\ufffd\ufffd'],
    ['with half a character', 'utf-16le', '\0\xd8', '\ufffd'],
    ['in HZ', 'hz-gb-2312', 'a~~~{VP~}b~\n~{!~~}c', 'a~中b〓c'],
    ['in HZ, shifted twice', 'HZ', '~{VP~}~{~{ND~}', '中文'],
    ['in HZ with a segment that its line ends', 'hz', '~{VP\nVP', '中\nVP'],
  ] as const) {
    test(`${name} is decoded`, () =>
      expect(textOf(`Content-Type: text/plain; charset="${charset}"`, '', bytes)).toBe(expected))
  }

  for (const [name, charset, bytes, expected] of [
    ['escapes that meet', 'jp', '\x1b$B%F\x1b(B\x1b$B%9\x1b(B\x1b(Bx', 'テスx'],
    ['an escape without text', 'jp', 'a\x1b$B\x1b(Bb', 'ab'],
    ['the same escape twice', 'jp', '\x1b$B%F\x1b$B\x1b$B%9', 'テス'],
    ['a line that ends the segment', 'jp', '\x1b$BF|\nK\\', '日\nK\\'],
    ['half a character', 'jp', '\x1b$BF\x1b(Bx', '\ufffdx'],
    ['a character that does not exist', 'jp', '\x1b$B)!\x1b(Bx', '\ufffdx'],
    ['8-bit text', 'jp', '\xb1\x1b$BF\xfc\x1b(Bx', '\ufffd\ufffd\ufffdx'],
    ['an unknown escape', 'jp', '\x1b$BF|\x1b(Zx \x1b', '日\ufffd(Zx \ufffd'],
    ['the characters of NEC', 'jp', '\x1b$B-!-j\x1b(B', '①㈱'],
    ['the set of 1978', 'jp', '\x1b$@F|\x1b(H~\x1b(B~', '日‾~'],
    ['Roman and Katakana', 'jp', '\x1b(J\\~\x1b(B\\~\x1b(I1\x1b(B', '¥‾\\~ｱ'],
    ['Katakana by a shift', 'jp', '\x0e1\x0f1', 'ｱ1'],
    ['JIS X 0212', 'jp-1', '\x1b$(D0!\x1b(B\x1b$BF|\x1b(B', '丂日'],
    [
      'other languages',
      'jp-2',
      '\x1b$BF|\x1b$AVP\x1b$(CGQ\x1b(B\x1b.A\x1bNi\x1b.F\x1bNa',
      '日中한éα',
    ],
    ['8-bit text after a Latin-1 character', 'jp-2', '\x1b.A\x1bNi\xff', 'é\ufffd'],
    ['JIS X 0213', 'jp-2004', '\x1b$(QF|\x1b(B', '日'],
    ['Korean', 'kr', '\x1b$)C\x0eGQ\x0fa\x0e19\x0f\n\x0eGQ\x0f', '한a국\n한'],
    ['Korean without its designation', 'kr', '\x0eGQ\x0f', '한'],
    ['simplified Chinese', 'cn', '\x1b$)A\x0eVP\x0f\x1b$)A\x0eND\x0f', '中文'],
    ['traditional Chinese, which has no decoder', 'cn', "\x1b$)G\x0eD'\x0fx", '\ufffd$)G魔x'],
  ] as const) {
    test(`in ISO-2022 with ${name} is decoded`, () => {
      const type = `Content-Type: text/plain; charset=ISO-2022-${charset.toUpperCase()}`
      expect(textOf(type, '', bytes)).toBe(expected)
    })
  }

  test('in ISO-2022 is not decoded in more pieces if its charset changes often', () => {
    const decode = vi.spyOn(TextDecoder.prototype, 'decode')
    onTestFinished(() => decode.mockRestore())
    const changes = '\x1b$BF|\x1b$AVP\x1b$(CGQ\x1b.A\x1bNi\x1b.F\x1bNa'.repeat(1_000)
    const type = 'Content-Type: text/plain; charset=ISO-2022-JP-2'
    expect(textOf(type, '', changes)).toBe('日中한éα'.repeat(1_000))
    expect(decode.mock.calls.length).toBeLessThan(100)
  })

  test('in ISO-2022-JP is decoded, whatever its registered name', () => {
    for (const charset of ['csISO2022JP', 'csISO2022JP2', 'iso2022-jp', 'cp50221', 'x-iso-2022-jp'])
      expect(textOf(`Content-Type: text/plain; charset=${charset}`, '', '\x1b$BF|')).toBe('日')
  })

  for (const [name, encoding, lines, expected] of [
    ['base64', 'base64', ['aGVs', 'bG8='], 'hello'],
    ['base64 padded on each line', 'base64', ['aGU=', 'bGxv'], 'hello'],
    ['base64 with garbage between', 'BASE64', ['aG*Vs', '!bG8'], 'hello'],
    ['quoted-printable', 'quoted-printable', ['a=C3=BC=', 'b=3d', 'c'], 'aüb=\nc'],
    ['quoted-printable at its worst', 'Quoted-Printable', ['=XX =', '=4', '='], '=XX =4\n'],
    ['an encoding after a comment', '(x) base64', ['aGVsbG8='], 'hello'],
    ['an unknown encoding', 'x-none', ['hello'], 'hello'],
  ] as const) {
    test(`in ${name} is decoded`, () =>
      expect(textOf(`Content-Transfer-Encoding: ${encoding}`, '', ...lines)).toBe(expected))
  }
})

const STEP = 256 * 1024
const large = randomBytes(STEP)

for (const [name, encoding, encoded, decoded] of [
  ['base64 without padding', 'base64', 'QUJD', 'ABC'],
  ['base64 with padding', 'base64', 'QUI=', 'AB'],
  ['base64 with missing padding', 'base64', 'QUI', 'AB'],
  ['base64 padded on every line', 'base64', 'QQ==\r\nQkM=\r\nREVG', 'ABCDEF'],
  ['base64url', 'base64', 'Pz8_Pj4-', '???>>>'],
  ['base64 with invalid characters', 'base64', 'Q!U*\r\n J\tD', 'ABC'],
  ['half a byte of base64', 'base64', 'Q', ''],
  ['escapes and soft breaks', 'quoted-printable', 'a=3Db=\r\nc=  \nd=zz', 'a=bcd=zz'],
  ['an unknown encoding', 'x-none', 'as=20it', 'as=20it'],
] as const) {
  test(`${name} is decoded, at once and in steps`, async () => {
    expect(decodeTransfer(Buffer.from(encoded), encoding).toString()).toBe(decoded)
    expect((await decodeInSteps(Buffer.from(encoded), encoding)).toString()).toBe(decoded)
  })
}

test('the result does not depend on where a step ends', async () => {
  const lines = large.toString('base64').replace(/.{76}/g, '$&\r\n')
  const escapes = [...large].map((byte) => `=${byte.toString(16).padStart(2, '0')}`)
  for (let shift = 0; shift < 5; shift += 1) {
    const space = ' '.repeat(shift)
    const base64 = Buffer.from(space + lines)
    expect((await decodeInSteps(base64, 'base64')).equals(large)).toBe(true)
    const quoted = Buffer.from(space + escapes.join('') + '=\r\n'.repeat(STEP / 3))
    const whole = Buffer.concat([Buffer.from(space), large])
    expect((await decodeInSteps(quoted, 'quoted-printable')).equals(whole)).toBe(true)
  }
})

test('base64 is decoded as by Node', async () => {
  for (let round = 0; round < 200; round += 1) {
    const noise = Buffer.from(randomBytes(60).toString('latin1').replaceAll('=', ''), 'latin1')
    const expected = Buffer.from(noise.toString('latin1'), 'base64')
    expect((await decodeInSteps(noise, 'base64')).equals(expected)).toBe(true)
  }
})

test('the event loop runs between the steps', async () => {
  let turns = 0
  let isDone = false
  const decoding = decodeInSteps(Buffer.alloc(8 * STEP, 'A'), 'base64').then(() => {
    isDone = true
  })
  while (!isDone) {
    await new Promise(setImmediate)
    turns += 1
  }
  await decoding
  expect(turns).toBeGreaterThan(4)
})
