import { describe, expect, test } from 'vitest'
import { headOf, jsonParts, parseCompact } from './long-strings.ts'

const MAX = 50

/** Texts in which every character is one that JSON escapes, or that takes several bytes or units. */
const TEXTS = ['plain', '"', '\\', '\\"', '\n', '\u0001', 'é', '漢', '😀', '\ud800', '"é\\😀\u0001']

const long = (text: string) => text.repeat(200)
const compact = (value: unknown) => parseCompact(Buffer.from(JSON.stringify(value)), MAX)

describe('a value with long strings', () => {
  for (const text of TEXTS) {
    test(`of ${JSON.stringify(text)} is the same after it was taken apart`, async () => {
      const value = { a: [long(text), text, { b: long(text) }], c: '', d: long(text) }
      const { value: rest, long: taken } = await compact(value)
      expect(taken.size).toBe(3)
      expect(Buffer.concat(jsonParts(rest, taken)).toString()).toBe(JSON.stringify(value))
    })
  }

  test('is shared, not copied', async () => {
    const json = Buffer.from(JSON.stringify({ text: long('x') }))
    const { value, long: taken } = await parseCompact(json, MAX)
    const [part] = jsonParts({ status: 'success', ...(value as object) }, taken).slice(1)
    expect(part?.buffer).toBe(json.buffer)
    expect(part).toBe(jsonParts(value, taken)[1])
  })

  test('that names no placeholder of another value keeps what looks like one', async () => {
    const { value } = await compact({ text: long('x') })
    const { text: placeholder } = value as { text: string }
    const other = await compact({ text: long('y'), subject: placeholder })
    const again = Buffer.concat(jsonParts(other.value, other.long)).toString()
    expect(JSON.parse(again)).toStrictEqual({ text: long('y'), subject: placeholder })
  })

  test('is parsed as a whole if it is short', async () => {
    expect(await compact({ a: 'x' })).toStrictEqual({ value: { a: 'x' }, long: new Map() })
  })
})

describe('the beginning of a long string', () => {
  for (const text of TEXTS) {
    test(`of ${JSON.stringify(text)} ends with a whole character, wherever it is cut`, () => {
      const whole = long(text)
      const json = Buffer.from(JSON.stringify(whole))
      for (let bytes = 0; bytes < 40; bytes += 1) {
        const head = headOf(json, bytes)
        expect(whole.startsWith(head), `${bytes}`).toBeTruthy()
        // At most six bytes for each unit.
        expect(head.length * 6, `${bytes}`).toBeGreaterThanOrEqual(bytes - 1)
      }
      expect(headOf(json, json.length)).toBe(whole)
    })
  }
})
