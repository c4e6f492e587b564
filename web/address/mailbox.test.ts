import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { Problem } from '../../src/base/problem.ts'
import { parsePrefix } from '../../src/mail/rules/prefix.ts'
import {
  extensionSeconds,
  extensionText,
  formatStored,
  isListFull,
  isUnfinished,
  localExpiry,
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

describe('a stored mailbox', () => {
  const valid = {
    email: 'ann@box.test',
    token: 'abc',
    expires: '2026-03-01T13:00:00.000Z',
    since: 7,
  }

  test('is parsed as it was formatted', () => {
    const stored = { mailbox: box('ann'), since: NOW }
    assert.deepEqual(parseStored(formatStored(stored)), stored)
  })

  test('has address, token, expiry time and age, and nothing else', () => {
    const mailbox = { ...box('ann'), subject: 'secret' }
    const written = JSON.parse(formatStored({ mailbox, since: NOW }))
    assert.deepEqual(Object.keys(written), ['email', 'token', 'expires', 'since'])
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
    test(`is ignored: ${name}`, () => assert.equal(parseStored(text), undefined))
  }

  test('without an age is the oldest', () => {
    assert.equal(parseStored(JSON.stringify({ ...valid, since: 'now' }))?.since, 0)
  })

  test('is read from the list of version 0.1, where only invalid entries are ignored', () => {
    const text = JSON.stringify([{ broken: true }, valid, 'x'])
    assert.deepEqual(
      parseOldList(text).map(({ email }) => email),
      ['ann@box.test'],
    )
    for (const invalid of [undefined, '', '{"email":', 'null', '{}']) {
      assert.deepEqual(parseOldList(invalid), [])
    }
  })
})

describe('the list', () => {
  const many = (count: number, leftMs?: number) =>
    Array.from({ length: count }, (_, index) => box(`${index}`, leftMs))

  test('has the newest mailbox first', () => {
    assert.deepEqual(names(withMailbox([box('a')], box('b'))), ['b', 'a'])
  })

  test('keeps the place of an extended mailbox', () => {
    const list = withMailbox([box('a'), box('b')], box('b', DAY))
    assert.deepEqual(names(list), ['a', 'b'])
    assert.deepEqual(list[1]?.expiresAt, new Date(NOW + DAY))
  })

  for (const count of [MAX_LIVE - 1, MAX_LIVE, MAX_LIVE + 1, 3 * MAX_LIVE]) {
    test(`retains all of ${count} live mailboxes`, () => {
      assert.equal(retained(many(count), BOUNDS).length, count)
      assert.equal(isListFull(many(count), NOW), count >= MAX_LIVE)
    })
  }

  test('is not filled up by expired mailboxes', () => {
    assert.equal(isListFull([...many(MAX_LIVE, -HOUR), box('live')], NOW), false)
  })

  test('drops the oldest expired mailboxes if there is no room', () => {
    const live = many(MAX_LIVE - 1)
    const list = [box('over', -HOUR), ...live, box('older', -HOUR)]
    assert.deepEqual(names(retained(list, BOUNDS)), ['over', ...names(live)])
    const full = withMailbox(list, box('new'))
    assert.deepEqual(names(retained(full, BOUNDS)), ['new', ...names(live)])
  })

  for (const [name, cooldown, last] of [
    ['longer than the cooldown', 30 * 86_400, 30 * DAY],
    ['more than a day, without a cooldown', 0, DAY],
  ] as const) {
    test(`drops mailboxes expired for ${name}`, () => {
      const list = [box('new'), box('retained', HOUR - last), box('dropped', -HOUR - last)]
      assert.deepEqual(names(retained(list, { now: NOW, cooldown })), ['new', 'retained'])
    })
  }
})

describe('the local expiry time', () => {
  const server = new Date(NOW)
  const end = new Date(NOW + DAY)
  for (const [name, browserMs, expected] of [
    ['is that of the server if the clocks agree', NOW, NOW + DAY],
    ['is that of the server if the clocks differ by seconds', NOW + 40_000, NOW + DAY],
    ['is later on a fast clock', NOW + 5 * HOUR, NOW + DAY + 5 * HOUR],
    ['is earlier on a slow clock', NOW - 2 * DAY, NOW - DAY],
  ] as const) {
    test(name, () =>
      assert.equal(localExpiry(end, server, new Date(browserMs)).getTime(), expected),
    )
  }

  test('is that of the server if there is no Date header', () => {
    assert.equal(localExpiry(end, new Date(Number.NaN), new Date(NOW)), end)
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
    test(name, () => assert.equal(extensionSeconds(box('ann', leftMs), NOW, limits), seconds))
  }

  for (const [name, requested, gained, text] of [
    ['of a whole lifetime', 2 * 86_400, 86_400, 'address_extended'],
    ['by a device whose clock is fast', 86_400, 86_400 - 120, 'address_extended'],
    ['up to the maximum lifetime', limits.longest, 3_600, 'address_extended_max'],
    ['at the maximum lifetime', limits.longest, 5, 'address_at_max'],
  ] as const) {
    test(`${name} is reported`, () => assert.equal(extensionText(requested, gained, limits), text))
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
      assert.equal(nameError(typed), expected))

    // The page and the server implement the same rule.
    test(`${JSON.stringify(typed)}: the server agrees`, () =>
      assert.equal(typed === '' || serverAccepts(typed.trim()), expected === undefined))
  }

  test('that ends in a dot is unfinished', () => {
    assert.equal(isUnfinished(nameError('calm.')), true)
    assert.equal(isUnfinished(nameError('calm..')), false)
  })
})

function serverAccepts(name: string): boolean {
  try {
    return parsePrefix(name) === normaliseName(name)
  } catch (fault) {
    if (fault instanceof Problem && fault.code === 'invalid_prefix') return false
    throw fault
  }
}
