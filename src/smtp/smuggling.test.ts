import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { byteByByte, converse, cutAt, firstMail, OPENING, whole } from './testing/converse.ts'

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
  check(whole(bytes))
  check(byteByByte(bytes))
  for (let at = 1; at < bytes.length; at += 1) check(cutAt(bytes, [at]))
}

describe('bare CR and LF kept', () => {
  for (const sequence of NOT_AN_END) {
    test(`${JSON.stringify(sequence)} ends no mail, and is in it as it came`, () => {
      const body = `hi${sequence}${EVIL}`
      everyCut(Buffer.from(OPENING + body), (pieces) => {
        const heard = converse(pieces)
        assert.deepEqual(heard.codes, [250, 250, 250, 354, 250])
        assert.equal(heard.mails.length, 1)
        assert.equal(firstMail(heard), body.slice(0, -3))
        assert.deepEqual(heard.mails[0]?.recipients, ['ann@box.test'])
      })
    })
  }

  test(`${JSON.stringify(AN_END)} ends the mail, because CRLF.CRLF is in it`, () => {
    everyCut(Buffer.from(`${OPENING}hi${AN_END}${EVIL}`), (pieces) => {
      const heard = converse(pieces)
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
        const heard = converse(pieces, { refuseBareNewlines: true })
        assert.deepEqual(heard.codes, [250, 250, 250, 354, ...expected])
        assert.equal(heard.replies.includes('550 5.6.11 '), expected[0] === 550)
        assert.equal(heard.mails.length, expected.at(-1) === 250 ? 1 : 0)
      })
    })
  }

  test('a mail whose lines all end with CRLF is kept', () => {
    const bytes = Buffer.from(`${OPENING}a\r\n\r\n..b\r\n.\r\n`)
    const heard = converse(whole(bytes), { refuseBareNewlines: true })
    assert.equal(firstMail(heard), 'a\r\n\r\n.b\r\n')
  })
})
