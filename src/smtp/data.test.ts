import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
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

test('a short session split at any two offsets gives the same transcript', () => {
  const expected = transcript(oneChunk(short))
  expect(firstMail(expected)).toBe('Subject: hi\r\n\r\n.a\r\n..\r\n\r.\n\r\n')
  expect(expected.mails[1]?.raw.length).toBe(0)
  expect(expected.closed).toBe('quit')
  expect(transcript(byteByByte(short))).toStrictEqual(expected)
  for (let first = 0; first <= short.length; first += 1) {
    for (let second = first; second <= short.length; second += 1) {
      expect(transcript(splitAt(short, [first, second]))).toStrictEqual(expected)
    }
  }
})

test('a long mail split anywhere, any number of times, is the same mail', () => {
  const line = fc.stringMatching(/^[ -~]{0,40}$/)
  const piece = fc.oneof(
    line,
    fc.constantFrom('\r\n', '\r\n.', '.', '\r', '\n', '\0', 'é', '\r\n..'),
  )
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 300 }),
      fc.array(fc.nat(20_000), { maxLength: 60 }),
      (pieces, offsets) => {
        const body = `${pieces.join('')}\r\n`
        const bytes = Buffer.from(`${OPENING}${stuffed(body)}QUIT\r\n`)
        const once = transcript(oneChunk(bytes))
        expect(once.mails.length).toBe(1)
        expect(firstMail(once)).toBe(Buffer.from(body).toString('latin1'))
        const cuts = offsets.map((offset) => offset % bytes.length)
        expect(transcript(splitAt(bytes, cuts))).toStrictEqual(once)
      },
    ),
    { seed: 20_260, numRuns: 300 },
  )
})

test('of a large mail, nothing is left to the garbage collection but the mail', () => {
  const bytes = Buffer.from(`${OPENING}${stuffed(`${'x'.repeat(76)}\r\n`.repeat(100_000))}QUIT\r\n`)
  const cuts = Array.from({ length: bytes.length / 65_536 }, (_, index) => 65_536 * index)
  const chunks = splitAt(bytes, cuts)
  const before = process.memoryUsage().arrayBuffers
  const [mail] = transcript(chunks).mails
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1.1 * (mail?.raw.length ?? 0))
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
    test(`${name}: dot-stuffing is undone`, () => {
      const bytes = Buffer.from(OPENING + stuffed(body))
      for (const pieces of [
        oneChunk(bytes),
        splitAt(bytes, [OPENING.length + 1]),
        inBlocks(bytes),
      ]) {
        expect.assert(firstMail(transcript(pieces)) === body)
      }
    })
  }

  test('a dot that was not doubled stays, and only a doubled dot after CRLF is unstuffed', () => {
    const bytes = Buffer.from(`${OPENING}.a\r\n.\rb\r\nc\n..d\r..e\r\n..f\r\n.\r\n`)
    expect(firstMail(transcript(oneChunk(bytes)))).toBe('.a\r\n.\rb\r\nc\n..d\r..e\r\n.f\r\n')
  })
})

// Like network segments: an odd length, so that every pattern is split somewhere.
function inBlocks(bytes: Buffer): Buffer[] {
  return splitAt(
    bytes,
    Array.from({ length: Math.floor(bytes.length / 1447) }, (_, at) => at * 1447),
  )
}

for (const [name, split] of Object.entries({ whole: oneChunk, byteByByte })) {
  for (const body of ['plain\r\n', '.stuffed\r\n', '']) {
    test(`mail of ${body.length} bytes received ${name} has its own transferable buffer`, () => {
      const raw = transcript(split(Buffer.from(OPENING + stuffed(body)))).mails[0]?.raw
      expect.assert(raw)
      expect(raw.byteOffset).toBe(0)
      expect(raw.buffer.byteLength).toBe(body.length)
    })
  }
}

// VU#302671 and similar: sequences that some server took for the end of a mail.
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

function everySplit(bytes: Buffer, check: (pieces: Buffer[]) => void): void {
  check(oneChunk(bytes))
  check(byteByByte(bytes))
  for (let at = 1; at < bytes.length; at += 1) check(splitAt(bytes, [at]))
}

describe('bare CR and LF accepted', () => {
  for (const sequence of NOT_AN_END) {
    test(`${JSON.stringify(sequence)} does not end the mail and is stored unchanged`, () => {
      const body = `hi${sequence}${EVIL}`
      everySplit(Buffer.from(OPENING + body), (pieces) => {
        const session = transcript(pieces)
        expect(session.codes).toStrictEqual([250, 250, 250, 354, 250])
        expect(session.mails.length).toBe(1)
        expect(firstMail(session)).toBe(body.slice(0, -3))
        expect(session.mails[0]?.recipients).toStrictEqual(['ann@box.test'])
      })
    })
  }

  test(`${JSON.stringify(AN_END)} ends the mail, because it contains CRLF.CRLF`, () => {
    everySplit(Buffer.from(`${OPENING}hi${AN_END}${EVIL}`), (pieces) => {
      const session = transcript(pieces)
      expect(session.codes).toStrictEqual([250, 250, 250, 354, 250, 250, 250, 354, 250])
      expect(firstMail(session)).toBe('hi\r\r\n')
      expect(session.mails.length).toBe(2)
    })
  })
})

describe('bare CR and LF rejected', () => {
  for (const sequence of [...NOT_AN_END, AN_END]) {
    const body = `hi${sequence}${EVIL}`
    // After the real end, another, valid mail follows.
    const expected = sequence === AN_END ? [550, 250, 250, 354, 250] : [BARE.test(body) ? 550 : 250]
    test(`${JSON.stringify(sequence)} gets ${expected.join(' ')}`, () => {
      everySplit(Buffer.from(OPENING + body), (pieces) => {
        const session = transcript(pieces, { refuseBareNewlines: true })
        expect(session.codes).toStrictEqual([250, 250, 250, 354, ...expected])
        expect(session.replies.includes('550 5.6.11 ')).toBe(expected[0] === 550)
        expect(session.mails.length).toBe(expected.at(-1) === 250 ? 1 : 0)
      })
    })
  }

  test('mail with CRLF line ends only is accepted', () => {
    const bytes = Buffer.from(`${OPENING}a\r\n\r\n..b\r\n.\r\n`)
    const session = transcript(oneChunk(bytes), { refuseBareNewlines: true })
    expect(firstMail(session)).toBe('a\r\n\r\n.b\r\n')
  })
})
