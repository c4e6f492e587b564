import { describe, expect, test } from 'vitest'
import { linesFromHtml } from './html-lines.ts'

/** Lines without the blanks around them and without empty ones; cells are parted by a bar. */
function lines(html: string): string[] {
  const all = linesFromHtml(html).text.split('\n')
  return all.map((line) => line.replace(/\t+/g, '|').trim()).filter((line) => /[^|]/.test(line))
}

describe('what is seen of HTML', () => {
  for (const [name, html, expected] of [
    ['blocks are lines', '<p>a</p><div>b<br>c</div>', ['a', 'b', 'c']],
    ['what is inline is not', 'a<b>b</b><span>c</span> <i>d</i>', ['abc d']],
    ['cells share a line', '<tr><td>a</td><td>b</td></tr><tr><td>c', ['|a|b|', '|c']],
    ['breaks in the source are blanks', 'a\n  b\r\n\tc', ['a b c']],
    ['but not where they are kept', '<pre>a\nb</pre>c\nd', ['a', 'b', 'c d']],
    ['entities are read', '&lt;&eacute;&#233;&#xE9;&nbsp;&amp;amp;&copy', ['<ééé\u00a0&amp;©']],
    ['unknown ones stay', '&nosuch; & &#0; &#xd800;', ['&nosuch; & \ufffd \ufffd']],
    ['styles and scripts are not seen', 'a<style>b</style><script>c<p></script >d', ['ad']],
    ['nor is a style that never ends', 'a<style>b<p>c', ['a']],
    ['nor comments', 'a<!-- <p>b</p> -->c<!--[if mso]>d<![endif]-->e', ['ace']],
    ['a comment that never ends hides the rest', 'a<!-- b', ['a']],
    ['a bracket in quotes ends no tag', '<p title="a>b">c</p>', ['c']],
    ['an apostrophe without a value does not', "<p it's>c</p><p>d", ['c', 'd']],
    ['a value that never ends hides the rest', 'a<p title="b>c</p>', ['a']],
    ['a lone bracket is text', '1 < 2 <3', ['1 < 2 <3']],
  ] as const) {
    test(name, () => expect(lines(html)).toEqual(expected))
  }
})

describe('the links of HTML', () => {
  const anchors = (html: string) => {
    const { text, anchors } = linesFromHtml(html)
    return anchors.map(({ href, start, end, alt }) => [href, text.slice(start, end), alt])
  }
  for (const [name, html, expected] of [
    ['are told with their place', 'x<a href="u">a <b>b</b></a>c', [['u', 'a b', '']]],
    [
      'in any quotes',
      `<a href='u'>a</a><a HREF = v >b</a>`,
      [
        ['u', 'a', ''],
        ['v', 'b', ''],
      ],
    ],
    [
      'with what their pictures say',
      '<a href=u><img alt="a&amp;b"><img alt=c></a>',
      [['u', '', 'a&b c']],
    ],
    [
      'end where the next begins',
      '<a href=u>a<a href=v>b',
      [
        ['u', 'a', ''],
        ['v', 'b', ''],
      ],
    ],
    ['count by the first address', '<a href=u href=v>a</a>', [['u', 'a', '']]],
    ['are none without one', '<a name=u>a</a><a href="">b</a>', []],
    ['and are no other tag', '<abbr href=u>a</abbr><address href=v>b', []],
  ] as const) {
    test(name, () => expect(anchors(html)).toEqual(expected))
  }
})
