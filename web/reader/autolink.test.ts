import assert from 'node:assert/strict'
import { test } from 'vitest'
import { autolink } from './autolink.ts'

const links = (text: string) =>
  autolink(text).flatMap((piece) => (typeof piece === 'string' ? [] : [piece.url]))

for (const [name, text, expected] of [
  ['an address among words is a link', 'see https://a.test/b?c=d now', ['https://a.test/b?c=d']],
  ['two on one line are two', 'http://a.test http://b.test', ['http://a.test', 'http://b.test']],
  ['the end of a sentence is not part of it', 'At http://a.test/b.', ['http://a.test/b']],
  [
    'a list of them is kept apart',
    'http://a.test, http://b.test; end',
    ['http://a.test', 'http://b.test'],
  ],
  ['brackets around it are not part of it', '(http://a.test/b)', ['http://a.test/b']],
  ['brackets inside it are', 'http://a.test/b_(c)', ['http://a.test/b_(c)']],
  ['angle brackets end it', '<http://a.test/b>', ['http://a.test/b']],
  ['a quote ends it', 'http://a.test/"onmouseover=alert(1)', ['http://a.test/']],
  ['a quote with a bracket ends it', "http://a.test/'><img src=x>", ['http://a.test/']],
  ['a back quote ends it', 'http://a.test/`onerror=1', ['http://a.test/']],
  ['a line break ends it', 'http://a.test/\nb', ['http://a.test/']],
  ['an invisible mark ends it', 'http://a.test/\u202etxt', ['http://a.test/']],
  ['capitals are no hiding place', 'HTTPS://A.test/', ['HTTPS://A.test/']],
  ['other letters than ours are part of it', 'http://a.test/ä中', ['http://a.test/ä中']],
  ['a sentence in Chinese ends it', 'http://a.test/b。', ['http://a.test/b']],
  ['a script is not one', 'javascript:alert(1) and javascript://http', []],
  ['data is not one', 'data:text/html,<script>', []],
  ['a scheme alone is not one', 'http:// https://', []],
  ['a host that cannot be is not one', 'http://[ http://%zz/', []],
  ['part of a word is not one', 'xhttp://a.test', []],
  ['a mail address is not one', 'ann@a.test', []],
] as const) {
  test(name, () => assert.deepEqual(links(text), expected))
}

test('the pieces together are the text, whatever it is', () => {
  const text = 'a http://a.test/b"c" <http://[> &lt; http://x.test)) https://y.test/(z). end'
  const again = autolink(text).map((piece) => (typeof piece === 'string' ? piece : piece.url))
  assert.equal(again.join(''), text)
})

test('a text made to be slow is not', () => {
  for (const part of ['http://', 'http://a.test/', '(', 'http://a)))))', 'https://a.test/.']) {
    const text = part.repeat(Math.ceil(200_000 / part.length))
    assert.equal(
      autolink(text)
        .map((piece) => (typeof piece === 'string' ? piece : piece.url))
        .join(''),
      text,
    )
  }
})
