import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { idAt, makeSecretToken, nextId, secretHash, timeOfId } from './id.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const time = fc.date({ min: new Date(0), max: new Date('2248-01-01'), noInvalidDate: true })

describe('ids', () => {
  test('increase and stay below 2^53, whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(time, fraction), { maxLength: 200 }), (draws) => {
        let last = 0
        for (const [now, random] of draws) {
          const id = nextId(last, now, random)
          expect(id).toBeGreaterThan(last)
          expect(Number.isSafeInteger(id)).toBe(true)
          last = id
        }
      }),
      { numRuns: 50 },
    )
  })

  test('increase by small steps while the clock is behind', () => {
    const ahead = nextId(0, new Date(NOON.getTime() + 3_600_000), 0.5)
    const steps = [0, 0.5, 0.999].map((random) => nextId(ahead, NOON, random) - ahead)
    expect(steps).toEqual([1, 33, 64])
  })

  test('follow the clock again once it has caught up', () => {
    const id = nextId(0, NOON, 0)
    expect(nextId(id, new Date(NOON.getTime() + 1), 0)).toBe(id + 1024)
  })

  test('tell when they were drawn', () => {
    for (const random of [0, 0.5, 0.999]) {
      const id = nextId(0, NOON, random)
      expect(timeOfId(id)).toEqual(NOON)
      expect(id).toBeGreaterThan(idAt(NOON))
    }
  })

  test('of a restored mailbox are above every id that was lost', () => {
    const lost = nextId(nextId(0, NOON, 0.9), NOON, 0.9)
    expect(nextId(0, new Date(NOON.getTime() + 1000), 0)).toBeGreaterThan(lost)
  })

  test('do not reveal how many others exist: they are random within the millisecond and between two mails', () => {
    const first = [0, 0.25, 0.5, 0.999].map((random) => nextId(0, NOON, random) % 1024)
    expect(first).toEqual([1, 256, 512, 1022])
    const last = nextId(0, NOON, 0.999)
    const second = [0, 0.25, 0.5, 0.999].map((random) => nextId(last, NOON, random) - last)
    expect(second).toEqual([1, 17, 33, 64])
  })
})

describe('a token', () => {
  test('of 32 random bytes has 43 characters that need no escaping in a URL', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (random) => {
        const token = makeSecretToken(random)
        expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
        expect(encodeURIComponent(token)).toBe(token)
        expect(new Uint8Array(Buffer.from(token, 'base64url'))).toEqual(random)
      }),
      { numRuns: 50 },
    )
  })

  test('is stored as the SHA-256 of its characters', () => {
    expect(secretHash('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  })

  test('has one canonical spelling: another one that decodes to the same bytes has another hash', () => {
    const token = makeSecretToken(new Uint8Array(32))
    const respelled = `${token.slice(0, -1)}B`
    expect(Buffer.from(respelled, 'base64url')).toEqual(Buffer.from(token, 'base64url'))
    expect(secretHash(respelled)).not.toBe(secretHash(token))
  })
})
