import { describe, expect, test } from 'vitest'
import { isSlowerThan } from '../../test/kit/mail/growth.ts'
import { visibleTextOfHtml } from '../codes/visible-text.ts'
import { htmlConverter } from './html-text.ts'
import { parseMail } from './parse.ts'

const textOf = (html: string) => htmlConverter().convert(html)

describe('text of HTML', () => {
  for (const [name, html, text] of [
    ['paragraphs and line breaks', '<p>one<p>two<br>three', 'one\n\ntwo\nthree'],
    ['quotations', '<blockquote>a<blockquote>b</blockquote></blockquote>c', '> a\n> \n> > b\n\nc'],
    ['lists', '<ol start=3><li>a<li>b</ol><ul><li>c</ul>', ' 3. a\n 4. b\n\n * c'],
    ['links', '<a href="https://a.test/?x=1&amp;y=2">here</a>', 'here [https://a.test/?x=1&y=2]'],
    ['a link in a link', '<a href=x:1>a<a href=x:2>b</a>', 'a [x:1]b [x:2]'],
    ['entities and brackets', 'a &lt; b &amp; 1 < 2', 'a < b & 1 < 2'],
    [
      'invisible content removed',
      '<title>t</title><style>s</style><script>x</script><!-- c -->shown',
      'shown',
    ],
    ['several bodies', '<body>a</body>'.repeat(12), 'a'.repeat(12)],
    ['end tags without a start tag', 'a</blockquote></p>b', 'ab'],
    ['a bracket before a tag', '1 <<b>b</b> <<!---->/p>', '1 <b </p>'],
    [
      'references that end at a tag',
      '&#8364<b>5</b>, &l<b>t;</b>, &<i></i>amp;',
      '€5, &lt;, &amp;',
    ],
    ['references in lists', '<ul>Q&<!-- -->A<li>R&<b>D</b></ul>', '   Q&A\n * R&D'],
    ['long references', `&#${'0'.repeat(60)}6<b>5</b>`, '\u{6}5'],
    [
      'what cells close',
      '<table><tr><td><a href=x:1>a</td><td><div>b</td><td>c</table>',
      'a [x:1]\nb\nc',
    ],
    ['a quotation in a cell', '<table><tr><td><blockquote>q</td><td>reply</table>', '> q\n\nreply'],
    [
      'rows without end',
      `<table>${'<tr><td><div>x</td></tr>'.repeat(300)}</table>after`,
      `${'x\n'.repeat(300)}\nafter`,
    ],
    ['an implied end tag', '<p><b>a<ul><li>b</ul></b></p><p>c</p>', 'a\n * b\n\nc'],
    [
      'lists in lists without end tags',
      '<ul><li>a<ul><li><b>b<li><b>c</ul><li>d</ul>',
      ' * a\n   * bc\n * d',
    ],
    [
      'a block in an inline element in a paragraph',
      '<p>a<b><div>b</div>c</b></p>d',
      'a\nb\nc\n\nd',
    ],
    [
      'end tags of inline elements after an implied end',
      '<font><blockquote><p><font>a<div>b</div></font>c</p></blockquote></font>d',
      '> a\n> b\n> c\n\nd',
    ],
    ['text in a list that is in no item', '<ul><font>a <b>b</b><br>c</font></ul>', 'a b\nc'],
    [
      'void elements',
      '<ul><li>a<basefont><li>b</ul><p>a<track><div>b</div>c',
      ' * a\n * b\n\na\n\nb\nc',
    ],
    ['elements that no specification knows', '<constructor><b>a', 'a'],
  ] as const) {
    test(`has ${name}`, () => {
      expect(textOf(html)).toBe(text)
    })
  }

  for (const [name, html] of [
    ['too long', `${'x'.repeat(1_000_001)}`],
    ['too many tags', `${'<b>x</b>'.repeat(10_001)}`],
    ['elements too deep', `first${'<div>'.repeat(251)}x`],
    ['too many lines in quotations', `${'<blockquote>'.repeat(200)}first${'<br>y'.repeat(19_000)}`],
    ['too many words in quotations', `${'<blockquote>'.repeat(200)}${'y '.repeat(10_000)}`],
    ['end tags in comments', `${'<ul><!--</ul>-->'.repeat(200)}${'y<hr>'.repeat(9_000)}`],
    ['end tags in attributes', `${'<ol a="</ol>">'.repeat(200)}${'y<hr>'.repeat(9_000)}`],
  ] as const) {
    test(`is truncated and marked as such: ${name}`, () => {
      const { convert, isTruncated } = htmlConverter()
      expect(convert(html)).not.toBe('')
      expect(isTruncated()).toBe(true)
    })
  }

  test('is not much longer than the HTML, whatever its indentation', () => {
    const lines = 'a<br>'.repeat(4_000)
    for (const [name, level] of [
      ['long numbers', '<ol start="999999999999999"><li>'],
      ['Roman numbers', '<ol type=i start=888><li>'],
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
    expect(textOf('<ol start=12345><li>a</ol>')).toBe(' 1. a')
    expect(textOf('<ol start=999 type=i><li>a</ol>')).toBe(' cmxcix. a')
  })

  test('is complete in an ordinary mail with a long thread of quotations', () => {
    const reply = '<div>On Monday somebody wrote:<blockquote>'
    const html = `${reply.repeat(40)}${'<p>Some words of a letter.</p>'.repeat(200)}`
    const { convert, isTruncated } = htmlConverter()
    convert(html)
    expect(isTruncated()).toBe(false)
  })

  test('shares its limits among all parts of a mail', () => {
    const { convert, isTruncated } = htmlConverter()
    const tags = '<b>x</b>'.repeat(4_000)
    for (let part = 0; part < 2; part += 1) convert(tags)
    expect(isTruncated()).toBe(false)
    expect(convert(tags).length).toBeLessThan(4_000)
    expect(isTruncated()).toBe(true)
  })
})

describe('truncated is set', () => {
  const parts = (count: number) =>
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(count)}--b--\r\n`
  for (const [name, raw, truncated] of [
    ['if HTML was truncated', `Content-Type: text/html\r\n\r\n${'<div>'.repeat(300)}x`, true],
    ['if parts were dropped', parts(1_001), true],
    ['not for a complete mail', parts(900), undefined],
    [
      'not if the HTML contains no text',
      `Content-Type: text/html\r\n\r\n${'<p> </p>'.repeat(9_990)}`,
      undefined,
    ],
    ['not if the mail has a plain text', alternative('<div>'.repeat(300)), undefined],
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
const FILLERS = ['<br>y', '<p>y', '<hr>', 'y\n']

test('no structure makes the conversion slow', { timeout: 180_000 }, async () => {
  const slow: string[] = []
  // About 30 ms where a child has one second.
  const plain = () => textOf('<p>y'.repeat(5_000))
  for (const wrapper of WRAPPERS) {
    for (const filler of FILLERS) {
      const levels = `<${wrapper}>`.repeat(Math.floor(240 / wrapper.split('><').length))
      const html = levels + filler.repeat(100_000 / filler.length)
      if (await isSlowerThan(20, plain, () => textOf(html))) slow.push(`${wrapper} ${filler}`)
    }
  }
  expect(slow).toEqual([])
})

test('markup without a layout costs little more than text of its size', async () => {
  const read = (piece: string) => () => {
    const html = piece.repeat(16_000 / piece.length)
    for (let time = 0; time < 20; time += 1) {
      textOf(html)
      visibleTextOfHtml(html)
    }
  }
  const slow: string[] = []
  for (const [times, pieces] of [
    // 4 to 6, and more than 12 if each tag is handed to the library.
    [9, ['><', '<tr>', '<td>a</td>', '<b>', '<b>x</b>', '</b>', '<!>', '&<!>', '<<!>', '&<b>']],
    // 7 to 12, and 19 to 26: of the shortest tag there are most.
    [15, ['<a>']],
  ] as const) {
    for (const piece of pieces)
      if (await isSlowerThan(times, read('hello wo'), read(piece))) slow.push(piece)
  }
  expect(slow).toEqual([])
})
