import assert from 'node:assert/strict'
import { afterAll, beforeAll, test, vi } from 'vitest'
import { displaySender } from '../../src/shared/sender-display.ts'
import { isSuperlinear } from '../../test/support/growth.ts'
import { risksOf } from './attachment-risk.ts'
import { autolink } from './autolink.ts'
import { contentId } from './pictures.ts'
import { sanitiseStyleSheet } from './sanitise-css.ts'

// Whatever a stranger repeats, the page does not stand still.
const LONGEST = 32_768

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
  ],
]

/** A sheet is the browser's to read; here only what we do before is counted. */
beforeAll(() => {
  const Sheet = class {
    readonly cssRules = []
    replaceSync() {}
  }
  vi.stubGlobal('CSSStyleSheet', Sheet)
})
afterAll(() => vi.unstubAllGlobals())

for (const [name, read, longest = LONGEST] of [
  ['a style sheet', (text: string) => sanitiseStyleSheet(text, () => false)],
  ['a text with addresses', autolink],
  // No address is longer.
  ['the end of an address', (text: string) => autolink(`http://a.test/${text}`), 3_900],
  ['the name of a sender', (text: string) => displaySender(text, 'x@evil.test')],
  ['the name of a part', contentId],
  ['the name of a file', (text: string) => risksOf(text, text)],
] as const) {
  test(`the time to read ${name} grows no faster than the text`, () => {
    const slow = REPEATED.filter((piece) => isSuperlinear(read, piece, longest))
    assert.deepEqual(slow, [])
  })
}
