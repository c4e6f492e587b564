import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import {
  byteByByte,
  firstMail,
  OPENING,
  oneChunk,
  splitAt,
  stuffed,
  transcript,
} from './testing/transcript.ts'

const short = Buffer.from(
  `${OPENING}${stuffed('Subject: hi\r\n\r\n.a\r\n..\r\n\r.\n\r\n')}RSET\r\n${OPENING}.\r\nQUIT\r\n`,
)

test('a short session cut at any two places is the same session', () => {
  const expected = transcript(oneChunk(short))
  assert.equal(firstMail(expected), 'Subject: hi\r\n\r\n.a\r\n..\r\n\r.\n\r\n')
  assert.equal(expected.mails[1]?.raw.length, 0)
  assert.equal(expected.closed, 'quit')
  assert.deepEqual(transcript(byteByByte(short)), expected)
  for (let first = 0; first <= short.length; first += 1) {
    for (let second = first; second <= short.length; second += 1) {
      assert.deepEqual(transcript(splitAt(short, [first, second])), expected)
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
        const once = transcript(oneChunk(bytes))
        assert.equal(once.mails.length, 1)
        assert.equal(firstMail(once), Buffer.from(body).toString('latin1'))
        const cuts = places.map((place) => place % bytes.length)
        assert.deepEqual(transcript(splitAt(bytes, cuts)), once)
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
      for (const pieces of [
        oneChunk(bytes),
        splitAt(bytes, [OPENING.length + 1]),
        inBlocks(bytes),
      ]) {
        assert.ok(firstMail(transcript(pieces)) === body)
      }
    })
  }

  test('a dot that nobody stuffed stays, and only behind CRLF does one count as stuffed', () => {
    const bytes = Buffer.from(`${OPENING}.a\r\n.\rb\r\nc\n..d\r..e\r\n..f\r\n.\r\n`)
    assert.equal(firstMail(transcript(oneChunk(bytes))), '.a\r\n.\rb\r\nc\n..d\r..e\r\n.f\r\n')
  })
})

// The segments of a network: odd lengths, so that every pattern is cut somewhere.
function inBlocks(bytes: Buffer): Buffer[] {
  return splitAt(
    bytes,
    Array.from({ length: Math.floor(bytes.length / 1447) }, (_, at) => at * 1447),
  )
}

for (const [name, split] of Object.entries({ whole: oneChunk, byteByByte })) {
  for (const body of ['plain\r\n', '.stuffed\r\n', '']) {
    test(`the bytes of a mail of ${body.length} that came ${name} can change threads`, () => {
      const raw = transcript(split(Buffer.from(OPENING + stuffed(body)))).mails[0]?.raw
      assert.ok(raw)
      assert.equal(raw.byteOffset, 0)
      assert.equal(raw.buffer.byteLength, body.length)
    })
  }
}

// VU#302671 and its kin: what some server, somewhere, took for the end of a mail.
const NOT_AN_END = [
  '\n.\n',
  '\n.\r\n',
  '\r\n.\n',
  '\r.\r',
  '\r.\n',
  '\n.\r',
  '\r\n.\r',
  '\r.\r\n',
  '\r\n\0.\r\n',
  '\r\n.\0\r\n',
  '\r\n.\r\r\n',
  '\r\r\n.\r\r\n',
  '\n\n.\n\n',
  '\r\n. \r\n',
]
const AN_END = '\r\r\n.\r\n'
const EVIL = 'MAIL FROM:<smug@a.test>\r\nRCPT TO:<bob@box.test>\r\nDATA\r\nevil\r\n.\r\n'
const BARE = /\r(?!\n)|(?<!\r)\n/

function everyCut(bytes: Buffer, check: (pieces: Buffer[]) => void): void {
  check(oneChunk(bytes))
  check(byteByByte(bytes))
  for (let at = 1; at < bytes.length; at += 1) check(splitAt(bytes, [at]))
}

describe('bare CR and LF kept', () => {
  for (const sequence of NOT_AN_END) {
    test(`${JSON.stringify(sequence)} ends no mail, and is in it as it came`, () => {
      const body = `hi${sequence}${EVIL}`
      everyCut(Buffer.from(OPENING + body), (pieces) => {
        const heard = transcript(pieces)
        assert.deepEqual(heard.codes, [250, 250, 250, 354, 250])
        assert.equal(heard.mails.length, 1)
        assert.equal(firstMail(heard), body.slice(0, -3))
        assert.deepEqual(heard.mails[0]?.recipients, ['ann@box.test'])
      })
    })
  }

  test(`${JSON.stringify(AN_END)} ends the mail, because CRLF.CRLF is in it`, () => {
    everyCut(Buffer.from(`${OPENING}hi${AN_END}${EVIL}`), (pieces) => {
      const heard = transcript(pieces)
      assert.deepEqual(heard.codes, [250, 250, 250, 354, 250, 250, 250, 354, 250])
      assert.equal(firstMail(heard), 'hi\r\r\n')
      assert.equal(heard.mails.length, 2)
    })
  })
})

describe('bare CR and LF refused', () => {
  for (const sequence of [...NOT_AN_END, AN_END]) {
    const body = `hi${sequence}${EVIL}`
    // What follows the true end is another mail, of which nothing is wrong.
    const expected = sequence === AN_END ? [550, 250, 250, 354, 250] : [BARE.test(body) ? 550 : 250]
    test(`${JSON.stringify(sequence)} is answered ${expected.join(' ')}`, () => {
      everyCut(Buffer.from(OPENING + body), (pieces) => {
        const heard = transcript(pieces, { refuseBareNewlines: true })
        assert.deepEqual(heard.codes, [250, 250, 250, 354, ...expected])
        assert.equal(heard.replies.includes('550 5.6.11 '), expected[0] === 550)
        assert.equal(heard.mails.length, expected.at(-1) === 250 ? 1 : 0)
      })
    })
  }

  test('a mail whose lines all end with CRLF is kept', () => {
    const bytes = Buffer.from(`${OPENING}a\r\n\r\n..b\r\n.\r\n`)
    const heard = transcript(oneChunk(bytes), { refuseBareNewlines: true })
    assert.equal(firstMail(heard), 'a\r\n\r\n.b\r\n')
  })
})
