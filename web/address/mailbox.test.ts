import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  endHere,
  extensionSeconds,
  formatStored,
  isFull,
  type Mailbox,
  MOST_LIVE,
  parseOldList,
  parseStored,
  withMailbox,
  worthKeeping,
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
  const good = {
    email: 'ann@box.test',
    token: 'abc',
    expires: '2026-03-01T13:00:00.000Z',
    since: 7,
  }

  test('is read as it was written', () => {
    const stored = { mailbox: box('ann'), since: NOW }
    assert.deepEqual(parseStored(formatStored(stored)), stored)
  })

  test('is the address, the token, the end and since when, whatever else there was', () => {
    const mailbox = { ...box('ann'), subject: 'secret' }
    const written = JSON.parse(formatStored({ mailbox, since: NOW }))
    assert.deepEqual(Object.keys(written), ['email', 'token', 'expires', 'since'])
  })

  for (const [name, text] of [
    ['nothing', undefined],
    ['an empty text', ''],
    ['no JSON', '{"email":'],
    ['null', 'null'],
    ['a list', '[]'],
    ['a text', '"ann@box.test"'],
    ['an address without an @', JSON.stringify({ ...good, email: 'ann' })],
    ['an address of another kind', JSON.stringify({ ...good, email: 7 })],
    ['a token that would break a header', JSON.stringify({ ...good, token: 'a\nb' })],
    ['no token', JSON.stringify({ ...good, token: '' })],
    ['an end that is no time', JSON.stringify({ ...good, expires: 'soon' })],
    ['no end', JSON.stringify({ ...good, expires: null })],
  ] as const) {
    test(`may be spoilt: ${name}`, () => assert.equal(parseStored(text), undefined))
  }

  test('is the oldest if it does not say since when', () => {
    assert.equal(parseStored(JSON.stringify({ ...good, since: 'now' }))?.since, 0)
  })

  test('in the list of version 0.1 is read, too, and only what is spoilt is lost', () => {
    const text = JSON.stringify([{ broken: true }, good, 'x'])
    assert.deepEqual(
      parseOldList(text).map(({ email }) => email),
      ['ann@box.test'],
    )
    for (const spoilt of [undefined, '', '{"email":', 'null', '{}']) {
      assert.deepEqual(parseOldList(spoilt), [])
    }
  })
})

describe('the list', () => {
  const many = (count: number, leftMs?: number) =>
    Array.from({ length: count }, (_, index) => box(`${index}`, leftMs))

  test('has the newest first', () => {
    assert.deepEqual(names(withMailbox([box('a')], box('b'))), ['b', 'a'])
  })

  test('leaves one with a new end in its place', () => {
    const list = withMailbox([box('a'), box('b')], box('b', DAY))
    assert.deepEqual(names(list), ['a', 'b'])
    assert.deepEqual(list[1]?.expiresAt, new Date(NOW + DAY))
  })

  for (const count of [MOST_LIVE - 1, MOST_LIVE, MOST_LIVE + 1, 3 * MOST_LIVE]) {
    test(`keeps all of ${count} live ones`, () => {
      assert.equal(worthKeeping(many(count), BOUNDS).length, count)
      assert.equal(isFull(many(count), NOW), count >= MOST_LIVE)
    })
  }

  test('is not filled by those that are over', () => {
    assert.equal(isFull([...many(MOST_LIVE, -HOUR), box('live')], NOW), false)
  })

  test('drops of those that are over the oldest, as far as there is no room', () => {
    const live = many(MOST_LIVE - 1)
    const list = [box('over', -HOUR), ...live, box('older', -HOUR)]
    assert.deepEqual(names(worthKeeping(list, BOUNDS)), ['over', ...names(live)])
    const full = withMailbox(list, box('new'))
    assert.deepEqual(names(worthKeeping(full, BOUNDS)), ['new', ...names(live)])
  })

  for (const [name, cooldown, last] of [
    ['so long that nobody gets it back', 30 * 86_400, 30 * DAY],
    ['a day, where an address does not rest', 0, DAY],
  ] as const) {
    test(`drops what is over for ${name}`, () => {
      const list = [box('new'), box('kept', HOUR - last), box('lost', -HOUR - last)]
      assert.deepEqual(names(worthKeeping(list, { now: NOW, cooldown })), ['new', 'kept'])
    })
  }
})

describe('the end by the clock of the browser', () => {
  const server = new Date(NOW)
  const end = new Date(NOW + DAY)
  for (const [name, browserMs, expected] of [
    ['is the server’s where both agree', NOW, NOW + DAY],
    ['is the server’s where they are seconds apart', NOW + 40_000, NOW + DAY],
    ['is later on a clock that is ahead', NOW + 5 * HOUR, NOW + DAY + 5 * HOUR],
    ['is earlier on one that is behind', NOW - 2 * DAY, NOW - DAY],
  ] as const) {
    test(name, () => assert.equal(endHere(end, server, new Date(browserMs)).getTime(), expected))
  }

  test('is the server’s where its time is not told', () => {
    assert.equal(endHere(end, new Date(Number.NaN), new Date(NOW)), end)
  })
})

describe('an extension', () => {
  const facts = { life: 86_400, longest: 7 * 86_400 }
  for (const [name, leftMs, seconds] of [
    ['adds one life to what is left', HOUR, 86_400 + 3_600],
    ['reaches no further than the longest life', 6.5 * DAY, 7 * 86_400],
    ['of an address that is over starts anew', -HOUR, 86_400],
    ['takes nothing from an address that lives as long already', 7 * DAY, undefined],
    ['takes nothing from an address that lives longer', 20 * DAY, undefined],
  ] as const) {
    test(name, () => assert.equal(extensionSeconds(box('ann', leftMs), NOW, facts), seconds))
  }
})
