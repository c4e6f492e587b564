import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { displaySender } from '../../src/shared/sender-display.ts'
import { isSuperlinear } from '../../test/kit/mail/growth.ts'
import { risksOf } from './attachment-risk.ts'
import { autolink } from './autolink.ts'
import { parseCalendar } from './calendar.ts'
import { contentId } from './pictures.ts'
import { sanitiseStyleSheet } from './sanitise-css.ts'

// No input of a sender may block the page.
const MAX_LENGTH = 32_768

const REPEATED = [
  ...[
    'a',
    ' ',
    '.',
    '-',
    '@',
    '"',
    "'",
    '(',
    ')',
    '>',
    '<',
    ']',
    '}',
    '\\',
    '/',
    '\t',
    '\n',
    '%',
    '\u202e',
    'ä',
  ],
  ...[
    'a.',
    'a-',
    'a.b ',
    'a@',
    '@ ',
    '(at)',
    '> a',
    ' .',
    '."',
    '.)',
    ')(',
    '),',
    'http://',
    'http://a.test/',
  ],
  ...[
    'http://a)',
    '@import',
    '@import ',
    '@IMPORT\n',
    '@import a;',
    '@import{',
    'cid:',
    '.exe',
    '.pdf.',
    ',com',
    '[.]',
    '{at}',
    '%2e',
    '&#46;',
    'a\u0660',
    '\u0301',
    ';a',
    ';a="',
  ],
]

/** The browser parses the sheet; only what we do before that is measured. */
beforeAll(() => {
  const Sheet = class {
    readonly cssRules = []
    replaceSync() {}
  }
  vi.stubGlobal('CSSStyleSheet', Sheet)
})
afterAll(() => vi.unstubAllGlobals())

for (const [name, parse, maxLength = MAX_LENGTH] of [
  [
    'a style sheet',
    (text: string) => sanitiseStyleSheet(text, { allows: () => false, dark: true }),
  ],
  ['text with URLs', autolink],
  // A URL is at most 4,000 characters long.
  ['the end of a URL', (text: string) => autolink(`http://a.test/${text}`), 3_900],
  ['a sender name', (text: string) => displaySender(text, 'x@evil.test')],
  ['a content id', contentId],
  ['a calendar', (text: string) => parseCalendar(`BEGIN:VEVENT\nDTSTART${text}`)],
  ['a file name', (text: string) => risksOf(text, text)],
] as const) {
  test(`parsing ${name} takes linear time`, () => {
    const slow = REPEATED.filter((piece) => isSuperlinear(parse, piece, maxLength))
    expect(slow).toStrictEqual([])
  })
}
