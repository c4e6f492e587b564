import { describe, expect, test } from 'vitest'
import { Problem } from '../../src/base/problem.ts'
import { parsePrefix } from '../../src/mail/rules/prefix.ts'
import {
  clockAhead,
  extensionSeconds,
  extensionText,
  formatStored,
  isListFull,
  isPermanent,
  MAX_LIVE,
  type Mailbox,
  nameError,
  normaliseName,
  parseOldList,
  parseStored,
  retained,
  withMailbox,
} from './mailbox.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
const HOUR = 3_600_000
const DAY = 24 * HOUR
const BOUNDS = { now: NOW, cooldown: 30 * 86_400 }

const box = (name: string, leftMs = HOUR): Mailbox => ({
  email: `${name}@box.test`,
  token: `token-of-${name}`,
  expiresAt: new Date(NOW + leftMs),
})
const names = (boxes: Mailbox[]) => boxes.map(({ email }) => email.replace('@box.test', ''))

for (const [expiry, expected] of [
  ['9999-12-31T23:59:59Z', true],
  ['2027-03-01T12:00:00Z', false],
] as const) {
  test(`an address that expires at ${expiry} ${expected ? 'stays' : 'does not stay'}`, () => {
    expect(isPermanent({ ...box('ann'), expiresAt: new Date(expiry) })).toBe(expected)
  })
}

describe('a stored mailbox', () => {
  const valid = {
    email: 'ann@box.test',
    token: 'abc',
    expires: '2026-03-01T13:00:00.000Z',
    since: 7,
  }

  test('is parsed as it was formatted', () => {
    for (const mailbox of [box('ann'), { ...box('ann'), label: 'Netflix trial' }]) {
      const stored = { mailbox, since: NOW }
      expect(parseStored(formatStored(stored))).toStrictEqual(stored)
    }
  })

  test('has address, token, expiry time, age and the label, if there is one, and nothing else', () => {
    const mailbox = { ...box('ann'), subject: 'secret' }
    const written = JSON.parse(formatStored({ mailbox, since: NOW }))
    expect(Object.keys(written)).toStrictEqual(['email', 'token', 'expires', 'since'])
  })

  for (const [name, text] of [
    ['nothing', undefined],
    ['an empty string', ''],
    ['invalid JSON', '{"email":'],
    ['null', 'null'],
    ['a list', '[]'],
    ['a string', '"ann@box.test"'],
    ['an address without an @', JSON.stringify({ ...valid, email: 'ann' })],
    ['an address that is a number', JSON.stringify({ ...valid, email: 7 })],
    ['a token that would break a header', JSON.stringify({ ...valid, token: 'a\nb' })],
    ['no token', JSON.stringify({ ...valid, token: '' })],
    ['an invalid expiry time', JSON.stringify({ ...valid, expires: 'soon' })],
    ['no expiry time', JSON.stringify({ ...valid, expires: null })],
  ] as const) {
    test(`is ignored: ${name}`, () => expect(parseStored(text)).toBeUndefined())
  }

  test('without an age is the oldest', () => {
    expect(parseStored(JSON.stringify({ ...valid, since: 'now' }))?.since).toBe(0)
  })

  test('is read from the list of version 0.1, where only invalid entries are ignored', () => {
    const text = JSON.stringify([{ broken: true }, valid, 'x'])
    expect(parseOldList(text).map(({ email }) => email)).toStrictEqual(['ann@box.test'])
    for (const invalid of [undefined, '', '{"email":', 'null', '{}']) {
      expect(parseOldList(invalid)).toStrictEqual([])
    }
  })
})

describe('the list', () => {
  const many = (count: number, leftMs?: number) =>
    Array.from({ length: count }, (_, index) => box(`${index}`, leftMs))

  test('has the newest mailbox first', () => {
    expect(names(withMailbox([box('a')], box('b')))).toStrictEqual(['b', 'a'])
  })

  test('keeps the place of an extended mailbox', () => {
    const list = withMailbox([box('a'), box('b')], box('b', DAY))
    expect(names(list)).toStrictEqual(['a', 'b'])
    expect(list[1]?.expiresAt).toStrictEqual(new Date(NOW + DAY))
  })

  for (const count of [MAX_LIVE - 1, MAX_LIVE, MAX_LIVE + 1, 3 * MAX_LIVE]) {
    test(`retains all of ${count} live mailboxes`, () => {
      expect(retained(many(count), BOUNDS).length).toBe(count)
      expect(isListFull(many(count), NOW)).toBe(count >= MAX_LIVE)
    })
  }

  test('is not filled up by expired mailboxes', () => {
    expect(isListFull([...many(MAX_LIVE, -HOUR), box('live')], NOW)).toBe(false)
  })

  test('drops the oldest expired mailboxes if there is no room', () => {
    const live = many(MAX_LIVE - 1)
    const list = [box('over', -HOUR), ...live, box('older', -HOUR)]
    expect(names(retained(list, BOUNDS))).toStrictEqual(['over', ...names(live)])
    const full = withMailbox(list, box('new'))
    expect(names(retained(full, BOUNDS))).toStrictEqual(['new', ...names(live)])
  })

  for (const [name, cooldown, last] of [
    ['longer than the cooldown', 30 * 86_400, 30 * DAY],
    ['more than a day, without a cooldown', 0, DAY],
  ] as const) {
    test(`drops mailboxes expired for ${name}`, () => {
      const list = [box('new'), box('retained', HOUR - last), box('dropped', -HOUR - last)]
      expect(names(retained(list, { now: NOW, cooldown }))).toStrictEqual(['new', 'retained'])
    })
  }
})

describe('the clock of the device', () => {
  for (const [name, deviceMs, ahead] of [
    ['agrees with that of the server', NOW, 0],
    ['differs by seconds, which are ignored', NOW + 40_000, 0],
    ['is fast', NOW + 5 * HOUR, 5 * HOUR],
    ['is slow', NOW - 2 * DAY, -2 * DAY],
  ] as const) {
    test(name, () => expect(clockAhead(new Date(NOW), new Date(deviceMs))).toBe(ahead))
  }

  test('is not measured without a Date header', () => {
    expect(clockAhead(new Date(Number.NaN), new Date(NOW))).toBeUndefined()
  })
})

describe('an extension', () => {
  const limits = { life: 86_400, longest: 7 * 86_400 }
  for (const [name, leftMs, seconds] of [
    ['adds one lifetime to the time left', HOUR, 86_400 + 3_600],
    ['stops at the maximum lifetime', 6.5 * DAY, 7 * 86_400],
    ['of an expired address starts now', -HOUR, 86_400],
    ['at the maximum lifetime adds nothing', 7 * DAY, undefined],
    ['past the maximum lifetime shortens nothing', 20 * DAY, undefined],
  ] as const) {
    test(name, () => expect(extensionSeconds(box('ann', leftMs), NOW, limits)).toBe(seconds))
  }

  for (const [name, requested, gained, text] of [
    ['of a whole lifetime', 2 * 86_400, 86_400, 'address_extended'],
    ['by a device whose clock is fast', 86_400, 86_400 - 120, 'address_extended'],
    ['up to the maximum lifetime', limits.longest, 3_600, 'address_extended_max'],
    ['at the maximum lifetime', limits.longest, 5, 'address_at_max'],
  ] as const) {
    test(`${name} is reported`, () => expect(extensionText(requested, gained, limits)).toBe(text))
  }
})

describe('a chosen name', () => {
  for (const [typed, expected] of [
    ['', undefined],
    ['a', undefined],
    ['007', undefined],
    ['Ann.Smith', undefined],
    ['a.b_c-d', undefined],
    ['  pasted  ', undefined],
    ['a'.repeat(64), undefined],
    ['a'.repeat(65), 'long'],
    ['.a', 'start'],
    ['-', 'start'],
    ['a-', 'end'],
    ['calm.', 'end'],
    ['calm..', 'double'],
    ['a..b', 'double'],
    ['a._b', 'double'],
    ['a+b', 'characters'],
    ['a@box.example', 'characters'],
    ['a b', 'characters'],
    ['zoë', 'characters'],
    ['\u212aim', 'characters'],
    ['\u0130an', 'characters'],
    ['ａ', 'characters'],
    ['١', 'characters'],
  ] as const) {
    test(`${JSON.stringify(typed)}: ${expected ?? 'valid'}`, () =>
      expect(nameError(typed)).toBe(expected))

    // The page and the server implement the same rule.
    test(`${JSON.stringify(typed)}: the server agrees`, () =>
      expect(typed === '' || serverAccepts(typed.trim())).toBe(expected === undefined))
  }
})

function serverAccepts(name: string): boolean {
  try {
    return parsePrefix(name) === normaliseName(name)
  } catch (fault) {
    if (fault instanceof Problem && fault.code === 'invalid_prefix') return false
    throw fault
  }
}
