import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { decodeInSteps, decodeTransfer } from './decode.ts'

const STEP = 256 * 1024
const large = randomBytes(STEP)

for (const [name, encoding, encoded, decoded] of [
  ['base64 without padding', 'base64', 'QUJD', 'ABC'],
  ['base64 with padding', 'base64', 'QUI=', 'AB'],
  ['base64 without the padding that is due', 'base64', 'QUI', 'AB'],
  ['base64 padded on every line', 'base64', 'QQ==\r\nQkM=\r\nREVG', 'ABCDEF'],
  ['base64url', 'base64', 'Pz8_Pj4-', '???>>>'],
  ['base64 with strange characters', 'base64', 'Q!U*\r\n J\tD', 'ABC'],
  ['half a byte of base64', 'base64', 'Q', ''],
  ['escapes and soft breaks', 'quoted-printable', 'a=3Db=\r\nc=  \nd=zz', 'a=bcd=zz'],
  ['an unknown encoding', 'x-none', 'as=20it', 'as=20it'],
] as const) {
  test(`${name} is decoded, in one go and in steps`, async () => {
    expect(decodeTransfer(Buffer.from(encoded), encoding).toString()).toBe(decoded)
    expect((await decodeInSteps(Buffer.from(encoded), encoding)).toString()).toBe(decoded)
  })
}

test('steps give the same bytes, wherever they end', async () => {
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

test('base64 is read as Node reads it', async () => {
  for (let round = 0; round < 200; round += 1) {
    const noise = Buffer.from(randomBytes(60).toString('latin1').replaceAll('=', ''), 'latin1')
    const expected = Buffer.from(noise.toString('latin1'), 'base64')
    expect((await decodeInSteps(noise, 'base64')).equals(expected)).toBe(true)
  }
})

test('others run between the steps', async () => {
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
