import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import {
  byteByByte,
  converse,
  cutAt,
  firstMail,
  OPENING,
  stuffed,
  whole,
} from './testing/converse.ts'

const short = Buffer.from(
  `${OPENING}${stuffed('Subject: hi\r\n\r\n.a\r\n..\r\n\r.\n\r\n')}RSET\r\n${OPENING}.\r\nQUIT\r\n`,
)

test('a short session cut at any two places is the same session', () => {
  const expected = converse(whole(short))
  assert.equal(firstMail(expected), 'Subject: hi\r\n\r\n.a\r\n..\r\n\r.\n\r\n')
  assert.equal(expected.mails[1]?.raw.length, 0)
  assert.equal(expected.closed, 'quit')
  assert.deepEqual(converse(byteByByte(short)), expected)
  for (let first = 0; first <= short.length; first += 1) {
    for (let second = first; second <= short.length; second += 1) {
      assert.deepEqual(converse(cutAt(short, [first, second])), expected)
    }
  }
})

test('a long mail cut anywhere, however often, is the same mail', () => {
  const line = fc.stringMatching(/^[ -~]{0,40}$/)
  const piece = fc.oneof(
    line,
    fc.constantFrom('\r\n', '\r\n.', '.', '\r', '\n', '\0', 'é', '\r\n..'),
  )
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 300 }),
      fc.array(fc.nat(20_000), { maxLength: 60 }),
      (pieces, places) => {
        const body = `${pieces.join('')}\r\n`
        const bytes = Buffer.from(`${OPENING}${stuffed(body)}QUIT\r\n`)
        const once = converse(whole(bytes))
        assert.equal(once.mails.length, 1)
        assert.equal(firstMail(once), Buffer.from(body).toString('latin1'))
        const cuts = places.map((place) => place % bytes.length)
        assert.deepEqual(converse(cutAt(bytes, cuts)), once)
      },
    ),
    { seed: 20_260, numRuns: 300 },
  )
})

describe('dots', () => {
  const MB = 1024 * 1024
  for (const [name, body] of [
    ['one dot', '.\r\n'],
    ['two dots', '..\r\n'],
    ['three dots', '...\r\n'],
    ['a dot and a letter', '.x\r\n'],
    ['two dots and a letter', '..x\r\n'],
    ['dots within lines', 'a.b..c\r\n.\r\n.\r\nx.\r\n'],
    ['an empty line first', '\r\n.\r\n\r\n'],
    ['a megabyte of lines of two dots', '\r\n..'.repeat(MB / 4).concat('\r\n')],
  ] as const) {
    test(`${name}: what the sender stuffed comes back as it was`, () => {
      const bytes = Buffer.from(OPENING + stuffed(body))
      for (const pieces of [whole(bytes), cutAt(bytes, [OPENING.length + 1]), inBlocks(bytes)]) {
        assert.ok(firstMail(converse(pieces)) === body)
      }
    })
  }

  test('a dot that nobody stuffed stays, and only behind CRLF does one count as stuffed', () => {
    const bytes = Buffer.from(`${OPENING}.a\r\n.\rb\r\nc\n..d\r..e\r\n..f\r\n.\r\n`)
    assert.equal(firstMail(converse(whole(bytes))), '.a\r\n.\rb\r\nc\n..d\r..e\r\n.f\r\n')
  })
})

// The segments of a network: odd lengths, so that every pattern is cut somewhere.
function inBlocks(bytes: Buffer): Buffer[] {
  return cutAt(
    bytes,
    Array.from({ length: Math.floor(bytes.length / 1447) }, (_, at) => at * 1447),
  )
}

for (const [name, split] of Object.entries({ whole, byteByByte })) {
  for (const body of ['plain\r\n', '.stuffed\r\n', '']) {
    test(`the bytes of a mail of ${body.length} that came ${name} can change threads`, () => {
      const raw = converse(split(Buffer.from(OPENING + stuffed(body)))).mails[0]?.raw
      assert.ok(raw)
      assert.equal(raw.byteOffset, 0)
      assert.equal(raw.buffer.byteLength, body.length)
    })
  }
}
