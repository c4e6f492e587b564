import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  endHere,
  extensionSeconds,
  type Mailbox,
  MOST_KEPT,
  parseMailboxes,
  withMailbox,
  writeMailboxes,
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

describe('what a browser keeps', () => {
  test('is read as it was written', () => {
    const boxes = [box('new'), box('old', -HOUR)]
    assert.deepEqual(parseMailboxes(writeMailboxes(boxes), BOUNDS), boxes)
  })

  test('is the address, the token and the end, whatever else there was', () => {
    const more = { ...box('ann'), subject: 'secret' }
    const written = JSON.parse(writeMailboxes([more]))
    assert.deepEqual(Object.keys(written[0]), ['email', 'token', 'expires'])
  })

  const good = { email: 'ann@box.test', token: 'abc', expires: '2026-03-01T13:00:00.000Z' }
  for (const [name, text] of [
    ['nothing', undefined],
    ['an empty text', ''],
    ['no JSON', '{"email":'],
    ['null', 'null'],
    ['an object', '{}'],
    ['a text', '"ann@box.test"'],
    ['entries that are none', '[null, 1, "x", [], {}]'],
    ['an address without an @', JSON.stringify([{ ...good, email: 'ann' }])],
    ['an address of another kind', JSON.stringify([{ ...good, email: 7 }])],
    ['a token that would break a header', JSON.stringify([{ ...good, token: 'a\nb' }])],
    ['no token', JSON.stringify([{ ...good, token: '' }])],
    ['an end that is no time', JSON.stringify([{ ...good, expires: 'soon' }])],
    ['no end', JSON.stringify([{ ...good, expires: null }])],
  ] as const) {
    test(`may be spoilt: ${name}`, () => assert.deepEqual(parseMailboxes(text, BOUNDS), []))
  }

  test('loses only what is spoilt', () => {
    const text = JSON.stringify([{ broken: true }, good, 'x'])
    assert.deepEqual(
      parseMailboxes(text, BOUNDS).map(({ email }) => email),
      ['ann@box.test'],
    )
  })
})

describe('the list', () => {
  test('has the newest first', () => {
    assert.deepEqual(names(withMailbox([box('a')], box('b'), BOUNDS)), ['b', 'a'])
  })

  test('leaves one with a new end in its place', () => {
    const list = withMailbox([box('a'), box('b')], box('b', DAY), BOUNDS)
    assert.deepEqual(names(list), ['a', 'b'])
    assert.deepEqual(list[1]?.expiresAt, new Date(NOW + DAY))
  })

  test('has room for so many; those that are over go first', () => {
    const live = Array.from({ length: MOST_KEPT - 1 }, (_, index) => box(`live${index}`))
    const list = withMailbox([box('over', -HOUR), ...live], box('new'), BOUNDS)
    assert.deepEqual(names(list), ['new', ...names(live)])
    const more = withMailbox(list, box('newer'), BOUNDS)
    assert.equal(more.length, MOST_KEPT)
    assert.deepEqual(names(more).slice(0, 2), ['newer', 'new'])
    assert.ok(!names(more).includes(`live${MOST_KEPT - 2}`))
  })

  for (const [name, cooldown, last] of [
    ['so long that nobody gets it back', 30 * 86_400, 30 * DAY],
    ['a day, where an address does not rest', 0, DAY],
  ] as const) {
    test(`drops what is over for ${name}`, () => {
      const before = [box('kept', HOUR - last), box('lost', -HOUR - last)]
      const list = withMailbox(before, box('new'), { now: NOW, cooldown })
      assert.deepEqual(names(list), ['new', 'kept'])
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
