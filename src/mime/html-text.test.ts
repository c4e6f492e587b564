import { describe, expect, test } from 'vitest'
import { isSlowerThan } from '../../test/kit/mail/growth.ts'
import { visibleTextOfHtml } from '../codes/visible-text.ts'
import { htmlConverter } from './html-text.ts'
import { parseMail } from './parse.ts'

const textOf = (html: string) => htmlConverter().convert(html)

describe('text of HTML', () => {
  for (const [name, html, text] of [
    ['paragraphs and line breaks', '<p>one<p>two<br>three', 'one\n\ntwo\nthree'],
    ['quotations', '<blockquote>a<blockquote>b</blockquote></blockquote>c', '> a\n>\n> > b\n\nc'],
    ['lists', '<ol start=3><li>a<li>b</ol><ul><li>c</ul>', ' 3. a\n 4. b\n\n * c'],
    ['blank lines between lists and text', 'a<ul><li>b</ul>c', 'a\n\n * b\n\nc'],
    ['links', '<a href="https://a.test/?x=1&amp;y=2">here</a>', 'here [https://a.test/?x=1&y=2]'],
    ['a link in a link', '<a href=x:1>a<a href=x:2>b</a>', 'a [x:1] b [x:2]'],
    ['a link around blocks', '<a href=x:1><p>a</p><p>b</p></a>c', 'a\n\nb [x:1]\n\nc'],
    ['a link around an image', '<a href=x:1><img src=y alt=z></a> after', 'x:1 after'],
    ['a link that shows its target', '<a href=x:1>x:1</a>', 'x:1'],
    ['an address as a link', '<a href="MAILTO: a@b.test">write</a>', 'write [a@b.test]'],
    ['links to the page itself', '<a href="#top">up</a><a href="">here</a>', 'uphere'],
    ['a target with line breaks', '<a href="x:1\n2">a</a>', 'a [x:12]'],
    ['blanks between words', ' a\t <b> b</b>\n<i>c </i>d<br> e ', 'a b c d\ne'],
    ['at most two blank lines', 'a<br><br><br><br><br>b', 'a\n\n\nb'],
    ['preformatted text', '<pre>\na  b\n\n  c</pre>d  e', 'a  b\n\n  c\n\nd e'],
    ['a rule', 'a<hr>b', `a\n\n${'-'.repeat(40)}\n\nb`],
    ['a rule with an end tag', 'a<hr></hr>b', `a\n\n${'-'.repeat(40)}\n\nb`],
    ['rows', '<table><tr><th>a<th>b<tr><td>c</td><td>d</table>e', 'a b\nc d\n\ne'],
    ['references of all names', '&bigodot;&NotEqualTilde;&hearts;', '\u2a00\u2242\u0338\u2665'],
    ['a hundred levels', `${'<blockquote>'.repeat(100)}a`, `${'> '.repeat(100)}a`],
    [
      'images in links next to text',
      'See<a href=x:1><img></a><a href=x:2><img></a>.test',
      'See x:1 x:2 .test',
    ],
    [
      'a link next to text',
      '<a href=x:1>点击</a>继续, <a href=x:2>a</a>.',
      '点击 [x:1] 继续, a [x:2].',
    ],
    ['a link without end', '<ul><li><a href=x:1>a</ul>b <a href=x:2>c', ' * a [x:1]\n\nb c [x:2]'],
    ['a link around a rule', '<a href=x:1>a<hr></a>b', `a [x:1]\n\n${'-'.repeat(40)}\n\nb`],
    ['links in cells', '<table><tr><td><a href=x:1>a</td><td>b</table>', 'a [x:1] b'],
    [
      'inline elements, also unknown ones',
      'at <time>10</time><st1:City>Paris</st1:City>, <o:p></o:p>a<x-code>1</x-code><button>2</button>',
      'at 10Paris, a1 2',
    ],
    ['buttons and fields', 'a<button>b</button>c<input>d<p><select>e</select>', 'a b c d\n\ne'],
    [
      'elements whose names start like others',
      '<script-x>a</script-x> <title-case>b</title-case> <a-b href=x:1>c</a-b><p-x>d<script>x</scripts>y</script>e',
      'a b cde',
    ],
    ['upper case', 'a<BR>b<SCRIPT>x</Script>c', 'a\nbc'],
    ['comments that browsers end', '1<!-->2<!--->3<!-- a --!>4<!-- > -->5', '12345'],
    [
      'lists in lists, but in no item',
      '<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>',
      ' * a\n   * b\n * c',
    ],
    [
      'numbers of lists in lists',
      '<ol><li>a<ol><li>b<li>c</ol><li>d</ol>',
      ' 1. a\n    1. b\n    2. c\n 2. d',
    ],
    ['a list of a menu', '<menu><li>a</menu><li>b', ' * a\n\n * b'],
    ['empty items', '<ul><li></li></ul>a<ul><li><blockquote></blockquote>b</ul>', 'a\n\n * b'],
    [
      'what a division closes',
      '<div><blockquote>q</div>a<div><ul><li>b</div>c',
      '> q\n\na\n\n * b\n\nc',
    ],
    ['what a table closes', '<table><td><pre>a</table>c\n   d', 'a\n\nc d'],
    [
      'what is not closed in a cell',
      '<ul><li>a<table><td></li></ul>b</table>c</ul>d',
      ' * a\n\n   b\n\n   c\n\nd',
    ],
    [
      'tables in cells',
      '<table><tr><td>a<table><tr><td>b<td>c</table><td>d<tr><td>e</table>',
      'a\n\nb c\n\nd\ne',
    ],
    ['end tags without a start tag in pre', '</pre><pre>a  b</pre></pre>c  d', 'a  b\n\nc d'],
    [
      'a line break after pre that is not its first',
      '<pre>a<b>\nb</b></pre>\nc<pre><b>\nd',
      'a\nb\n\nc\n\n\nd',
    ],
    ['entities and brackets', 'a &lt; b &amp; 1 < 2', 'a < b & 1 < 2'],
    [
      'invisible content removed',
      '<title>t</title><style>s</style><script>x</script><!-- c -->shown',
      'shown',
    ],
    ['several bodies', '<body>a</body>'.repeat(12), Array(12).fill('a').join('\n')],
    ['end tags without a start tag', 'a</blockquote></div></td></li></ul>b', 'ab'],
    ['a bracket before a tag', '1 <<b>b</b> <<!---->/p>', '1 <b </p>'],
    [
      'references that end at a tag',
      '&#8364<b>5</b>, &l<b>t;</b>, &<i></i>amp;',
      '€5, &lt;, &amp;',
    ],
    ['references in lists', '<ul>Q&<!-- -->A<li>R&<b>D</b></ul>', 'Q&A\n * R&D'],
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
    ['an implied end tag', '<p><b>a<ul><li>b</ul></b></p><p>c</p>', 'a\n\n * b\n\nc'],
    [
      'lists in lists without end tags',
      '<ul><li>a<ul><li><b>b<li><b>c</ul><li>d</ul>',
      ' * a\n   * b\n   * c\n * d',
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
      ' * a\n * b\n\na\nb\nc',
    ],
    ['elements with the names of properties', 'a<constructor>b', 'ab'],
    ['an empty quotation in an item', '<ul><li><blockquote>q</blockquote>b</ul>', ' * > q\n\n   b'],
    ['a quotation in an item', '<ul><li>a<blockquote>q</li><li>b</ul>', ' * a\n\n   > q\n\n * b'],
    ['a link that ends in a block', '<a href=x:1><div>a</div>b</a>c', 'a\nb [x:1] c'],
    ['a link that starts with a rule', '<a href=x:1><hr>a</a>', `${'-'.repeat(40)}\n\na [x:1]`],
    ['a target before a number', '<a href=x:1>a</a>1', 'a [x:1] 1'],
    ['a target before a slash', '<a href=x:1>a</a>/b', 'a [x:1] /b'],
    ['a target before a bracket', '<a href=x:1>a</a>(b)', 'a [x:1] (b)'],
    ['a target before a full stop', '<a href=x:1>a</a>.<b>b</b>', 'a [x:1]. b'],
    ['a target before a full stop without a blank', '<a href=x:1>a</a>.b', 'a [x:1] .b'],
    ['a target before another host', '<a href=x:1>a</a>@b', 'a [x:1] @b'],
    ['targets in a row', '<a href=x:1>a</a>•<a href=x:2>b</a>', 'a [x:1] •b [x:2]'],
    ['a target that is its text before a word', '<a href=x:1>x:1</a>b', 'x:1 b'],
    ['a link whose text is its target in parts', '<a href=" x:1 ">x:<b>1</b></a>', 'x:1'],
    [
      'line breaks in pre',
      '<pre>a<pre>b</pre>\nc</pre><pre>d<!-- -->\ne</pre>',
      'a\n\nb\n\n\nc\n\nd\ne',
    ],
    ['blocks in pre', '<pre>a<div>b  c</div></pre>', 'a\nb  c'],
    ['a cell outside a table', '<blockquote>q<td>x</blockquote>a', '> q x\n\na'],
    [
      'end tags in a table of what is outside it',
      '<blockquote><table></blockquote><tr><td>a</table>b</blockquote>c',
      '> a\n>\n> b\n\nc',
    ],
    ['cells of headings without end tags', '<table><tr><th><blockquote>q<th>b</table>', '> q\n\nb'],
    [
      'headings and directories',
      'a<h2>b</h2>c<dir><li>d<dir><li>e</dir></dir>f',
      'a\n\nb\n\nc\n\n * d\n   * e\n\nf',
    ],
    ['what a definition list closes', '<dl><dt>a<dt>b<blockquote>q</dl>c', 'a\nb\n\n> q\n\nc'],
    ['quotes in a value without quotes', `<a href=x:?q="it's>a</a> b`, `a [x:?q="it's] b`],
    [
      'attributes without a name',
      '<p style=="color:red>One</p> <a href=x:1 =">two</a>',
      'One\n\ntwo [x:1]',
    ],
    ['brackets in values', `<a title = '>' href=x:1 href=x:2>a</a>`, 'a [x:1]'],
    ['attributes in upper case', '<A HREF=x:1?a=1&copy=2>a</A>', 'a [x:1?a=1&copy=2]'],
    ['names that end at a slash or a line break', '<p/>a<br/>b<br\n/>c', 'a\nb\nc'],
    ['end tags with blanks', '<style>a</style\n>b<script>x</script/>c</title>d', 'bcd'],
    ['instructions', '<?xml a?>b', 'b'],
    ['content that browsers hide', 'a<template>b</template><iframe>c</iframe>d', 'ad'],
    ['comments that only seem to end early', '1<!--!> - -->2<!---!> - -->3', '123'],
    ['tags that are too long', `<a\tx="${'y'.repeat(17_000)}">a</a><p\thref="x:1">b</p>`, 'a\n\nb'],
    [
      'a tag with very many attributes',
      `<a href=x:1 ${'y '.repeat(3_000)}">a</a>b<p ${'y="" '.repeat(3_000)}>c`,
      'a [x:1] b\n\nc',
    ],
    ['a tag without end', 'a<a href="x:1', 'a'],
    ['a tag that a bracket in its value would end', 'a<a href="x:1>b</a> <p>c</p>', 'a'],
    [
      'no-break spaces in tags, which do not separate attributes',
      `<a x=1\u00a0href=x:1>a</a><a b=\u00a0">c">d</a>`,
      'ac">d',
    ],
    [
      'what comes after embedded images',
      `<img src="data:image/png;base64,${'QUJD\n'.repeat(1_600_000)}"><p>a</p><a href="data:,x">b</a>`,
      'a\n\nb [data:,x]',
    ],
    [
      'what comes after embedded images with names and references',
      `<img src=DATA:;name="x.png";BASE64,${'QUJD%0A&#10;'.repeat(100_000)}><p>a</p>`,
      'a',
    ],
    [
      'data that is no value',
      `<pre>data:a/b;base64,${'QUJD'.repeat(400)}</pre>`,
      `data:a/b;base64,${'QUJD'.repeat(400)}`,
    ],
    ['a target that is too long', `<a href=${'😀'.repeat(9_000)}>a</a>`, 'a'],
    ['a target with blanks that is too long', `<a href="${'x y '.repeat(5_000)}">a</a>`, 'a'],
  ] as const) {
    test(`has ${name}`, () => {
      expect(textOf(html)).toBe(text)
    })
  }

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
