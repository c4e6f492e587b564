import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isWellFormedKey, KEY_RANDOM_BYTES, makeId, makeKeyPrefix, makeKeySecret } from './rules.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const random = fc.uint8Array({ minLength: KEY_RANDOM_BYTES, maxLength: KEY_RANDOM_BYTES })
const mode = fc.constantFrom('live', 'test')
const secret = fc
  .tuple(mode, random, random)
  .map(([mode, name, bits]) => makeKeySecret(makeKeyPrefix(mode, name), bits))

/** The first, the last and some random secrets. */
function forEverySecret(check: (secret: string) => void): void {
  fc.assert(fc.property(secret, check), { numRuns: 100 })
}

const filled = (value: number) => new Uint8Array(KEY_RANDOM_BYTES).fill(value)
const KEY = makeKeySecret(makeKeyPrefix('live', filled(1)), filled(2))

/** The 160 bits of a secret, decoded from its digits. */
function bitsOf(secret: string): bigint {
  let value = 0n
  for (const digit of secret.slice(12, 39)) value = value * 62n + BigInt(DIGITS.indexOf(digit))
  return value
}

describe('a key', () => {
  test('is its prefix, 27 random characters and a checksum of six', () => {
    forEverySecret((key) => {
      expect(key).toMatch(/^mf_(live|test)_[A-Za-z0-9]{37}$/)
      expect(isWellFormedKey(key)).toBe(true)
    })
    expect(KEY.startsWith(makeKeyPrefix('live', filled(1)))).toBe(true)
  })

  test('contains all 160 random bits', () => {
    fc.assert(
      fc.property(random, (bits) => {
        const key = makeKeySecret('mf_live_abcd', bits)
        expect(bitsOf(key)).toBe(BigInt(`0x${Buffer.from(bits).toString('hex')}`))
      }),
    )
    for (const bits of [filled(0), filled(255)]) {
      expect(isWellFormedKey(makeKeySecret('mf_live_abcd', bits))).toBe(true)
    }
  })

  test('does not disclose its secret by its prefix', () => {
    const [one, two] = [filled(3), filled(4)].map((bits) => makeKeySecret('mf_live_abcd', bits))
    expect(one?.slice(0, 12)).toBe(two?.slice(0, 12))
    expect(one?.slice(12)).not.toBe(two?.slice(12))
  })
})

describe('a typo is detected without a lookup', () => {
  test('when one character is wrong', () => {
    fc.assert(
      fc.property(
        secret,
        fc.nat(44),
        fc.constantFrom(...DIGITS, '_', '-', ' ', 'é'),
        (key, at, other) => {
          fc.pre(key[at] !== other)
          expect(isWellFormedKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false)
        },
      ),
      { numRuns: 2_000 },
    )
    for (let at = 0; at < KEY.length; at += 1) {
      for (const other of DIGITS.replace(KEY[at] ?? '', '')) {
        expect(
          isWellFormedKey(KEY.slice(0, at) + other + KEY.slice(at + 1)),
          `${other} at ${at}`,
        ).toBe(false)
      }
    }
  })

  // CRC-32 detects every change within 32 bits; swaps across the start of the checksum were tested for all pairs.
  test('when two adjacent characters are swapped', () => {
    forEverySecret((key) => {
      for (let at = 0; at < key.length - 1; at += 1) {
        const [left = '', right = ''] = key.slice(at, at + 2)
        if (left === right) continue
        expect(isWellFormedKey(key.slice(0, at) + right + left + key.slice(at + 2))).toBe(false)
      }
    })
  })

  test('when a live key is labelled as a test key, or vice versa', () => {
    forEverySecret((key) => {
      const other = key.startsWith('mf_live') ? 'test' : 'live'
      expect(isWellFormedKey(key.replace(/live|test/, other))).toBe(false)
    })
  })

  for (const [name, text] of [
    ['an empty string', ''],
    ['only its prefix', KEY.slice(0, 12)],
    ['too short by one character', KEY.slice(0, -1)],
    ['too long by one character', `${KEY}0`],
    ['followed by a line break', `${KEY}\n`],
    ['preceded by a space', ` ${KEY}`],
    ['in another case', KEY.toLowerCase()],
    ['of an unknown mode', KEY.replace('live', 'prod')],
    ['only zeros', `mf_live_${'0'.repeat(37)}`],
    ['a megabyte of text', 'mf_live_'.padEnd(1_000_000, 'a')],
  ] as const) {
    test(`when it is ${name}`, () => expect(isWellFormedKey(text)).toBe(false))
  }

  test('nearly always when it is random text of that form', () => {
    const randomText = fc.string({ unit: fc.constantFrom(...DIGITS), minLength: 37, maxLength: 37 })
    fc.assert(fc.property(randomText, (text) => !isWellFormedKey(`mf_live_${text}`)))
  })
})

describe('ids', () => {
  test('have 128 random bits and distinguish keys from orders', () => {
    fc.assert(
      fc.property(random, (bits) => {
        expect(makeId('key', bits)).toMatch(/^key_[A-Za-z0-9]{22}$/)
        expect(makeId('ord', bits)).toBe(makeId('key', bits).replace('key_', 'ord_'))
      }),
    )
  })

  test('depend on every random byte', () => {
    const ids = Array.from({ length: 16 }, (_, at) => makeId('key', filled(0).with(at, 1)))
    expect(new Set([...ids, makeId('key', filled(0))]).size).toBe(17)
  })
})

test('prefixes use all characters evenly', () => {
  const seen = new Set<string>()
  for (let value = 0; value < 256; value += 1) {
    for (const digit of makeKeyPrefix('test', filled(0).with(19, value)).slice(-2)) seen.add(digit)
  }
  expect(seen.size).toBe(62)
})
