import { expect, test } from 'vitest'
import { autolink } from './autolink.ts'

const links = (text: string) =>
  autolink(text).flatMap((piece) => (typeof piece === 'string' ? [] : [piece.url]))

for (const [name, text, expected] of [
  ['a URL in a sentence is a link', 'see https://a.test/b?c=d now', ['https://a.test/b?c=d']],
  [
    'two URLs on a line are two links',
    'http://a.test http://b.test',
    ['http://a.test', 'http://b.test'],
  ],
  ['the full stop of a sentence is not part of it', 'At http://a.test/b.', ['http://a.test/b']],
  [
    'URLs in a list are separated',
    'http://a.test, http://b.test; end',
    ['http://a.test', 'http://b.test'],
  ],
  ['brackets around it are not part of it', '(http://a.test/b)', ['http://a.test/b']],
  ['brackets inside it are part of it', 'http://a.test/b_(c)', ['http://a.test/b_(c)']],
  ['angle brackets end it', '<http://a.test/b>', ['http://a.test/b']],
  ['a quote ends it', 'http://a.test/"onmouseover=alert(1)', ['http://a.test/']],
  ['a quote with a bracket ends it', "http://a.test/'><img src=x>", ['http://a.test/']],
  ['a backtick ends it', 'http://a.test/`onerror=1', ['http://a.test/']],
  ['a line break ends it', 'http://a.test/\nb', ['http://a.test/']],
  ['an invisible character ends it', 'http://a.test/\u202etxt', ['http://a.test/']],
  ['the scheme may be upper case', 'HTTPS://A.test/', ['HTTPS://A.test/']],
  ['non-ASCII letters are part of it', 'http://a.test/ä中', ['http://a.test/ä中']],
  ['a Chinese full stop ends it', 'http://a.test/b。', ['http://a.test/b']],
  ['text after a Chinese comma is not part of it', '[http://a.test/b]，c', ['http://a.test/b']],
  [
    'quotation marks around it are not part of it',
    '»http://a.test/b«, “http://a.test/c”',
    ['http://a.test/b', 'http://a.test/c'],
  ],
  ['an Arabic comma ends it', 'http://a.test/b، c', ['http://a.test/b']],
  ['a script is not a link', 'javascript:alert(1) and javascript://http', []],
  ['data: is not a link', 'data:text/html,<script>', []],
  ['a scheme alone is not a link', 'http:// https://', []],
  ['an invalid host is not a link', 'http://[ http://%zz/', []],
  ['part of a word is not a link', 'xhttp://a.test', []],
  ['a mail address is not a link', 'ann@a.test', []],
] as const) {
  test(name, () => expect(links(text)).toStrictEqual(expected))
}

test('the joined pieces are the text', () => {
  const text = 'a http://a.test/b"c" <http://[> &lt; http://x.test)) https://y.test/(z). end'
  const pieces = autolink(text).map((piece) => (typeof piece === 'string' ? piece : piece.url))
  expect(pieces.join('')).toBe(text)
})

test('text crafted to be slow is handled', () => {
  for (const part of ['http://', 'http://a.test/', '(', 'http://a)))))', 'https://a.test/.']) {
    const text = part.repeat(Math.ceil(200_000 / part.length))
    expect(
      autolink(text)
        .map((piece) => (typeof piece === 'string' ? piece : piece.url))
        .join(''),
    ).toBe(text)
  }
})
