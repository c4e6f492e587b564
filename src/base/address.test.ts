import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readIsemail } from '../../test/kit/smtp/isemail.ts'
import {
  type Address,
  hostOf,
  joinAddress,
  localOf,
  maskAccountEmail,
  maskAddress,
  parseAddress,
  parseHost,
  wildcardAbove,
} from './address.ts'

const L64 = 'l'.repeat(64)
const HOST_253 = `${'a.'.repeat(125)}abc`

describe('an address is', () => {
  for (const [name, text, address] of [
    ['accepted unchanged', 'ann@box.example', 'ann@box.example'],
    ['lower-cased', 'Ann.Smith@BOX.Example', 'ann.smith@box.example'],
    ['free to have dots, hyphens, underscores and a tag', 'a.b-c_d+e@x.y', 'a.b-c_d+e@x.y'],
    ['identified by its A-label', 'ann@bücher.example', 'ann@xn--bcher-kva.example'],
    [
      'the same with an upper-case A-label',
      'ann@XN--BCHER-KVA.example',
      'ann@xn--bcher-kva.example',
    ],
    ['the same in NFC', 'ann@caf\u00e9.example', 'ann@xn--caf-dma.example'],
    ['the same in NFD', 'ann@cafe\u0301.example', 'ann@xn--caf-dma.example'],
    ['the same with an ideographic full stop (U+3002)', 'ann@box\u3002example', 'ann@box.example'],
    ['the same in full width', 'ann@ｂｏｘ．example', 'ann@box.example'],
    ['the same with a Kelvin sign in the host', 'ann@\u212aiwi.example', 'ann@kiwi.example'],
    ['limited to 64 octets before the @', `${L64}@x.y`, `${L64}@x.y`],
    ['limited to 253 octets of host', `a@${HOST_253}`, `a@${HOST_253}`],
    ['limited to 63 octets per label', `a@${'b'.repeat(63)}.c`, `a@${'b'.repeat(63)}.c`],
    ['allowed at a host of one label', 'ann@localhost', 'ann@localhost'],
  ] as const) {
    test(name, () => expect(parseAddress(text)).toBe(address))
  }
})

describe('parseAddress refuses', () => {
  for (const [name, text] of [
    ['an empty string', ''],
    ['text without an @', 'ann'],
    ['text without a local part', '@box.example'],
    ['text without a host', 'ann@'],
    ['two @', 'ann@box@box.example'],
    ['a source route', '@relay.example:ann@box.example'],
    ['angle brackets', '<ann@box.example>'],
    ['a display name', 'Ann <ann@box.example>'],
    ['a quoted local part', '"ann"@box.example'],
    ['a quoted blank', '"ann smith"@box.example'],
    ['a percent hack', 'ann%other.example@box.example'],
    ['a bang path', 'other.example!ann@box.example'],
    ['a local part of 65 octets', `${L64}l@x.y`],
    ['a local part of 255 octets', `${'l'.repeat(255)}@x.y`],
    ['a host of 254 octets', `a@b${HOST_253}`],
    ['a host that grows past 253 octets as A-labels', `a@${'ü.'.repeat(120)}example`],
    ['a label of 64 octets', `a@${'b'.repeat(64)}.c`],
    ['a dot at the start', '.ann@box.example'],
    ['a dot at the end', 'ann.@box.example'],
    ['two dots in a row', 'an..n@box.example'],
    ['a trailing dot on the host', 'ann@box.example.'],
    ['a leading dot on the host', 'ann@.box.example'],
    ['an empty label', 'ann@box..example'],
    ['a label that starts with a hyphen', 'ann@-box.example'],
    ['a label that ends with a hyphen', 'ann@box-.example'],
    ['an address literal', 'ann@[127.0.0.1]'],
    ['an IPv6 literal', 'ann@[IPv6:::1]'],
    ['a bare IP address', 'ann@127.0.0.1'],
    ['a short IP address', 'ann@127.1'],
    ['a hexadecimal IP address', 'ann@0x7f.1'],
    ['an IP address with a trailing dot', 'ann@127.0.0.1.'],
    ['a full-width IP address', 'ann@１２７.０.０.１'],
    ['a port', 'ann@box.example:25'],
    ['a path', 'ann@box.example/x'],
    ['percent escapes in the host', 'ann@box%2eexample'],
    ['a replacement character (U+FFFD) in the local part', 'an\ufffdn@box.example'],
    ['a replacement character (U+FFFD) in the host', 'ann@b\ufffdx.example'],
    ['a Kelvin sign in the local part', '\u212aim@box.example'],
    ['a long s in the local part', 'bo\u017fs@box.example'],
    ['letters outside ASCII in the local part', 'zoë@box.example'],
    ['a combining accent in the local part', 'zoe\u0308@box.example'],
    ['a left-to-right mark in the local part', 'an\u200en@box.example'],
    ['a left-to-right mark in the host', 'ann@b\u200eox.example'],
    ['a full-width @', 'ann＠box.example'],
    ['blanks around it', ' ann@box.example '],
    ['a line break', 'ann@box.example\r\nRCPT TO:<x@y>'],
    ['a NUL', 'ann\0@box.example'],
    ['a lone surrogate', 'ann@\ud800.example'],
    ['a comment', 'ann(x)@box.example'],
    ['a broken A-label', 'ann@xn--.example'],
  ] as const) {
    test(name, () => expect(parseAddress(text)).toBeUndefined())
  }
})

test('a parsed address parses to itself', () => {
  const part = fc.string({ unit: 'binary', maxLength: 20 })
  const plausible = fc.stringMatching(/^[A-Za-z0-9.+_-]{1,10}@[A-Za-z0-9.üK。-]{1,20}$/)
  const any = fc.tuple(part, part).map(([local, host]) => `${local}@${host}`)
  fc.assert(
    fc.property(fc.oneof(plausible, any), (text) => {
      const address = parseAddress(text)
      if (address === undefined) return
      expect(address).toMatch(/^[a-z0-9._+-]{1,64}@[a-z0-9._-]{1,253}$/)
      expect(parseAddress(address)).toBe(address)
      expect(joinAddress(localOf(address), hostOf(address))).toBe(address)
    }),
    { numRuns: 500 },
  )
})

test('the host follows the last @', () => {
  const address = parseAddress('Ann+tag@Box.example')
  expect(address && [localOf(address), hostOf(address)]).toEqual(['ann+tag', 'box.example'])
})

test('a masked address shows one letter and the host', () => {
  const address = parseAddress('ann.smith@box.example')
  expect(address && maskAddress(address)).toBe('a…@box.example')
})

test('a host is parsed like the host of an address', () => {
  for (const text of ['Box.Example', 'bücher.example', 'a..b', '127.0.0.1', '']) {
    const address = parseAddress(`x@${text}`)
    expect(parseHost(text)).toBe(address && hostOf(address))
  }
})

test('a wildcard contains the hosts one label below it', () => {
  const above = (text: string) => {
    const host = parseHost(text)
    return host && wildcardAbove(host)
  }
  expect(['a.box.test', 'a.b.box.test', 'box.test', 'test'].map(above)).toEqual([
    '*.box.test',
    '*.b.box.test',
    undefined,
    undefined,
  ])
})

describe('test cases of isemail', () => {
  for (const [file, count] of [
    ['tests.xml', 164],
    ['tests-original.xml', 279],
  ] as const) {
    test(`${file}: each of ${count} is refused or canonical`, () => {
      const texts = readIsemail(file).map(({ address }) => address)
      expect(texts).toHaveLength(count)
      const accepted = texts.map(parseAddress).filter((address) => address !== undefined)
      for (const address of accepted) expect(parseAddress(address)).toBe(address)
      // Mostly unusual addresses; the plain ones are accepted.
      expect(accepted).toContain('test@iana.org')
      expect(accepted.length).toBeLessThan(count / 2)
    })
  }
})

for (const [email, shown] of [
  ['johndoe@gmail.com', 'jo…e@gmail.com'],
  ['j.doe@gmail.com', 'j.…e@gmail.com'],
  ['jane@gmail.com', 'j…@gmail.com'],
  ['j@gmail.com', 'j…@gmail.com'],
] as const) {
  test(`${email} is masked as ${shown}`, () =>
    expect(maskAccountEmail(email as Address)).toBe(shown))
}
