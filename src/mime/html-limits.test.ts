import { describe, expect, test } from 'vitest'
import { isSlowerThan } from '../../test/kit/mail/growth.ts'
import { visibleTextOfHtml } from '../codes/visible-text.ts'
import { htmlConverter } from './html-text.ts'
import { parseMail } from './parse.ts'

const textOf = (html: string) => htmlConverter().convert(html)

describe('text of HTML', () => {
  for (const [name, html] of [
    ['too long', `${'x'.repeat(1_000_001)}`],
    ['between halves of a character', `${'x'.repeat(999_999)}😀`],
    ['too many lines in quotations', `${'<blockquote>'.repeat(200)}first${'<br>y'.repeat(19_000)}`],
    ['end tags in comments', `${'<ul><!--</ul>-->'.repeat(200)}${'y<hr>'.repeat(9_000)}`],
    ['end tags in attributes', `${'<ol a="</ol>">'.repeat(200)}${'y<hr>'.repeat(9_000)}`],
  ] as const) {
    test(`is truncated and marked as such: ${name}`, () => {
      const { convert, isTruncated } = htmlConverter()
      const text = convert(html)
      expect(text).not.toBe('')
      expect(text.isWellFormed()).toBe(true)
      expect(isTruncated()).toBe(true)
    })
  }

  test('is not much longer than the HTML, whatever its indentation', () => {
    const lines = 'a<br>'.repeat(4_000)
    for (const [name, level] of [
      ['long numbers', '<ol start="999999999999999"><li>'],
      ['quotations', '<blockquote>'],
    ] as const) {
      const html = level.repeat(60) + lines
      const { convert, isTruncated } = htmlConverter()
      expect(convert(html).length, name).toBeLessThanOrEqual(4 * html.length + 65_536)
      expect(isTruncated(), name).toBe(true)
    }
  })

  test('has at most a million characters in all parts of a mail', () => {
    const { convert, isTruncated } = htmlConverter()
    let length = 0
    for (let part = 0; part < 20; part += 1) length += convert('<hr>'.repeat(990)).length
    for (let part = 0; part < 9; part += 1) length += convert('x'.repeat(100_000)).length
    expect(length).toBeLessThanOrEqual(1_000_000)
    expect(isTruncated()).toBe(true)
  })

  test('numbers a list from one if its first number is too long', () => {
    expect(textOf('<ol start=1000><li>a</ol>')).toBe(' 1. a')
  })

  test('is complete in an ordinary mail with a long thread of quotations', () => {
    const reply = '<div>On Monday somebody wrote:<blockquote>'
    const html = `${reply.repeat(40)}${'<p>Some words of a letter.</p>'.repeat(200)}`
    const { convert, isTruncated } = htmlConverter()
    convert(html)
    expect(isTruncated()).toBe(false)
  })

  test('has its limit for all parts of a mail together', () => {
    const { convert, isTruncated } = htmlConverter()
    const text = 'x'.repeat(400_000)
    for (let part = 0; part < 2; part += 1) expect(convert(text)).toBe(text)
    expect(isTruncated()).toBe(false)
    expect(convert(text)).toHaveLength(200_000)
    expect(isTruncated()).toBe(true)
  })
})

describe('truncated is set', () => {
  const LONG_HTML = 'y '.repeat(500_001)
  const parts = (count: number) =>
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(count)}--b--\r\n`
  for (const [name, raw, truncated] of [
    ['if HTML was truncated', `Content-Type: text/html\r\n\r\n${LONG_HTML}`, true],
    ['if parts were dropped', parts(1_001), true],
    ['not for a complete mail', parts(900), undefined],
    [
      'not if the HTML contains no text',
      `Content-Type: text/html\r\n\r\n${'<p> </p>'.repeat(9_990)}`,
      undefined,
    ],
    ['not if the mail has a plain text', alternative(LONG_HTML), undefined],
  ] as const) {
    test(name, () => {
      expect(parseMail(Buffer.from(raw)).truncated).toBe(truncated)
    })
  }
})

function alternative(html: string): string {
  return `Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b\r\nContent-Type: text/html\r\n\r\n${html}\r\n--b--\r\n`
}

// Structures that cost levels × lines, in mails of a hundred thousand characters.
const WRAPPERS = ['blockquote', 'ul', 'a href=x', 'pre><blockquote']
const FILLERS = ['<br>y', '<p>y', '<hr>', 'y\n', '<td>y', '</td>', '<li>y']

// Deeper indentation would take most of the time, and most of the text.
test('no line is indented by many more than a thousand characters', () => {
  for (const level of ['<ul>', '<ol><li>', '<blockquote>']) {
    const text = textOf(`${level.repeat(10_000)}a`)
    expect(text.length, level).toBeGreaterThan(900)
    expect(text.length, level).toBeLessThan(1_100)
  }
})

test('no structure makes the conversion slow', { timeout: 180_000 }, async () => {
  const slow: string[] = []
  const plain = () => textOf('<p>y'.repeat(25_000))
  for (const wrapper of WRAPPERS) {
    for (const filler of FILLERS) {
      const levels = `<${wrapper}>`.repeat(Math.floor(240 / wrapper.split('><').length))
      const html = levels + filler.repeat(100_000 / filler.length)
      if (await isSlowerThan(6, plain, () => textOf(html))) slow.push(`${wrapper} ${filler}`)
    }
  }
  expect(slow).toEqual([])
})

const WORDS = '<p style="margin:0">Some words &amp; <b>more</b> of them</p>\n'
const SHORT = ['<p>x', '<aa>', 'x</a>', '<li>x', '<td>a</td>', '<a>', '<b>x</b>', '<tr>', '&<!>']

test('the shortest elements cost little more than words of their size', async () => {
  const read = (piece: string) => () => {
    const html = piece.repeat(16_000 / piece.length)
    for (let time = 0; time < 40; time += 1) {
      textOf(html)
      visibleTextOfHtml(html)
    }
  }
  const slow: string[] = []
  for (const piece of SHORT) if (await isSlowerThan(6, read(WORDS), read(piece))) slow.push(piece)
  expect(slow).toEqual([])
})
