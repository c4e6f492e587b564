import { describe, expect, test } from 'vitest'
import {
  findIndexSteps,
  groupSteps,
  matchesFilter,
  parseFilter,
  parseSearch,
  searchSteps,
} from './filter.ts'

const INVALID = expect.objectContaining({ code: 'invalid_parameter' })

const MESSAGE = { senderEmail: 'ann@shop.test', subject: 'Your CODE', code: '1', links: 1 }

describe('a filter', () => {
  for (const [input, expected] of [
    [{ from: 'shop.test' }, true],
    [{ subject: 'our code' }, true],
    [{ has_code: true }, true],
    [{ has_link: true }, true],
    [{ from: 'shop.test', subject: 'code', has_code: true }, true],
    [{ from: 'other.test', subject: 'code' }, false],
    [{ from: 'shop.test', subject: 'other' }, false],
  ] as const) {
    test(`${JSON.stringify(input)} gives ${expected}`, () => {
      const filter = parseFilter(input)
      expect(filter && matchesFilter(filter, MESSAGE)).toBe(expected)
    })
  }

  test('without conditions does not exist', () => {
    expect(parseFilter({})).toBeUndefined()
    expect(parseFilter({ has_code: false, has_link: false })).toBeUndefined()
  })

  for (const [code, expected] of [
    ['1', true],
    ['', false],
    [undefined, undefined],
  ] as const) {
    test(`for codes gives ${expected} for the code ${JSON.stringify(code)}`, () => {
      const filter = parseFilter({ has_code: true })
      expect(filter && matchesFilter(filter, { ...MESSAGE, code })).toBe(expected)
    })
  }

  for (const [found, expected] of [
    [{ links: 1 }, true],
    [{ links: 0 }, false],
    [{ links: undefined }, undefined],
    [{ links: undefined, code: '' }, false],
    [{ links: 0, code: undefined }, false],
    [{ links: 1, code: undefined }, undefined],
  ] as const) {
    test(`for codes and links gives ${expected} for ${JSON.stringify(found)}`, () => {
      const filter = parseFilter({ has_code: true, has_link: true })
      expect(filter && matchesFilter(filter, { ...MESSAGE, ...found })).toBe(expected)
    })
  }

  test('that another condition refuses does not depend on the code', () => {
    const filter = parseFilter({ has_code: true, from: 'other.test' })
    expect(filter && matchesFilter(filter, { ...MESSAGE, code: undefined })).toBe(false)
  })

  test('for half of a surrogate pair is not found in an emoji', () => {
    const filter = parseFilter({ subject: '\ud83d' })
    expect(filter && matchesFilter(filter, { ...MESSAGE, subject: '👍' })).toBe(false)
  })

  test('takes 200 characters of a subject, and not 201', () => {
    expect(parseFilter({ subject: '👍'.repeat(200) })).toBeDefined()
    expect(() => parseFilter({ subject: 'a'.repeat(201) })).toThrow(INVALID)
    expect(() => parseFilter({ from: 'a b' })).toThrow(INVALID)
  })
})

test('a search takes 2 to 100 characters', () => {
  for (const text of ['中文', 'a'.repeat(100)]) expect(parseSearch(text)).toBe(text)
  for (const text of ['a', '👍', 'a'.repeat(101)]) {
    expect(() => parseSearch(text)).toThrow(INVALID)
  }
})

describe('a long text, searched in steps', () => {
  const STEP = 10_000
  const find = (search: string, text: string) => {
    const steps = searchSteps(parseSearch(search), text)
    for (let count = 1; ; count += 1) {
      const { done, value } = steps.next()
      if (done) return { value, count }
    }
  }
  const offsets = Array.from({ length: 10 }, (_, at) => at - 8)

  for (const [search, written] of [
    ['Code', 'CODE'],
    ['café', 'cafe\u0301'],
    ['q\u0307\u0323', 'Q\u0323\u0307'],
    ['한글', '한글'.normalize('NFD')],
    ['straße', 'STRASSE'],
    ['x👍🏽', 'x👍🏽'],
    ['\u{11131}\u{11127}', '\u{1112e}'],
    ['\u{16d68}\u{16d6a}', '\u{16d67}\u{16d67}\u{16d69}\u{16d67}'],
  ] as const) {
    test(`contains ${search} also where two steps meet`, () => {
      for (const offset of offsets) {
        const text = `${' '.repeat(STEP + offset)}${written}${' '.repeat(STEP)}`
        expect([offset, find(search, text).value]).toEqual([offset, true])
      }
    })
  }

  test('does not contain a letter whose accent follows in the next step', () => {
    for (const offset of offsets) {
      const text = `${'x'.repeat(STEP + offset)}cafe\u0301 ${'y'.repeat(STEP)}`
      expect([offset, find('cafe', text).value]).toEqual([offset, false])
    }
  })

  test('is not searched beyond 100,000 characters', () => {
    expect(find('ab', `${' '.repeat(99_000)}ab${' '.repeat(50_000)}`)).toEqual({
      value: true,
      count: 10,
    })
    expect(find('ab', `${' '.repeat(101_000)}ab`)).toEqual({ value: undefined, count: 10 })
    expect(find('ab', ' '.repeat(100_000)).value).toBe(false)
  })
})

test('many messages are tested in steps of 10,000 characters', () => {
  const messages = Array.from({ length: 100 }, (_, id) => {
    return { id, senderName: 'ᾷ'.repeat(500), senderEmail: '', subject: 'ᾷ'.repeat(500) }
  })
  const run = <T>(steps: Iterator<void, T>) => {
    let count = 1
    let step = steps.next()
    for (; !step.done; step = steps.next()) count += 1
    return { count, value: step.value }
  }
  expect(run(groupSteps(messages, ({ id }) => id % 3))).toEqual({
    count: 10,
    value: Map.groupBy(messages, ({ id }) => id % 3),
  })
  expect(run(findIndexSteps(messages, () => false))).toEqual({ count: 10, value: -1 })
  const tested: number[] = []
  const isWanted = ({ id }: { id: number }) => tested.push(id) > 25
  expect(run(findIndexSteps(messages, isWanted))).toEqual({ count: 3, value: 25 })
  expect(tested).toHaveLength(26)
})
