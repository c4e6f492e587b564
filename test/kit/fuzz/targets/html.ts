import { visibleTextOfHtml } from '../../../../src/codes/visible-text.ts'
import { htmlConverter } from '../../../../src/mime/html-text.ts'
import { htmlWords } from '../../../../src/mime/html-words.ts'
import { autolink } from '../../../../web/reader/autolink.ts'
import { parseCalendar } from '../../../../web/reader/calendar.ts'
import { htmlSeeds } from '../seeds.ts'
import { check, type FuzzTarget, resultOf } from '../target.ts'

const ELEMENTS =
  'svg math style template noscript select table form title textarea xmp mglyph mtext annotation-xml foreignObject iframe frameset a img p div script'
export const HTML_TOKENS: readonly string[] = [
  ...ELEMENTS.split(' ').flatMap((name) => [`<${name}>`, `</${name}>`]),
  ...(
    '<|>|"|=|/|/>|</|<!--|-->|--!>|<![CDATA[|]]>|<?|&|&#|&lt;| onerror=alert(1)| href="javascript:alert(1)"| src=x| style="|' +
    'url(http://canary.test/x)|@import "//canary.test/x";|{|}|;|:|\\|\\3c |/*|*/|var(--x)|position:fixed| id=attributes|' +
    ' name=parentNode| is=x| xlink:href=| background=| srcset=|data:text/html,|\0|\t|\n|\f|\u00a0|\ufeff|\u2028|java\tscript:|' +
    "&#x6a;|&colon;|&Tab;|'"
  ).split('|'),
]

const CALENDAR =
  'BEGIN:VEVENT\r\nDTSTART;TZID="Europe/Paris":20260101T100000\r\nORGANIZER;CN="A":mailto:a@b.test\r\nSUMMARY:x\\n y\r\nEND:VEVENT\r\n'

/** HTML as text, for lists, searches and pages without scripts, and text as the page links it. */
export const target: FuzzTarget = {
  seeds: [...htmlSeeds(), Buffer.from(CALENDAR)],
  tokens: HTML_TOKENS,
  maxBytes: 16 * 1024,
  run(input) {
    const html = input.toString()
    const { text, anchors } = visibleTextOfHtml(html)
    for (const { start, end } of anchors) {
      check(start >= 0 && start <= end && end <= text.length, 'a link outside the text')
    }
    const { convert } = htmlConverter()
    check(
      convert(html).length <= 5 * html.length + 70_000,
      'text that is much longer than its HTML',
    )
    check(resultOf(htmlWords(html, 10_000)).words.length <= 10_000, 'too many words')
    const pieces = autolink(html)
    const joined = pieces.map((piece) => (typeof piece === 'string' ? piece : piece.url)).join('')
    check(joined === html, 'linking changes the text')
    for (const piece of pieces) {
      if (typeof piece !== 'string')
        check(/^https?:\/\/[^\s<>"']+$/i.test(piece.url), `a link to ${piece.url}`)
    }
    parseCalendar(html)
    return text.trim() !== ''
  },
}
