import assert from 'node:assert/strict'
import { threadCpuUsage } from 'node:process'
import { afterAll, beforeAll, test, vi } from 'vitest'
import { autolink } from './autolink.ts'
import { contentId } from './content-id.ts'
import { cleanSheet } from './mail-style.ts'
import { risksOf } from './risk.ts'
import { written } from './sender.ts'

// Whatever a stranger repeats, the page does not stand still: one long text takes no more computing time than its eight
// pieces. A square would take 8 times as much; 4 is what we allow.
const PIECES = 8
const MOST_GROWTH = 4
// The system counts computing time in steps of up to 10 ms.
const STEP_MS = 10
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
  ['a style sheet', (text: string) => cleanSheet(text, () => false)],
  ['a text with addresses', autolink],
  // No address is longer.
  ['the end of an address', (text: string) => autolink(`http://a.test/${text}`), 3_900],
  ['the name of a sender', (text: string) => written(text, 'x@evil.test')],
  ['the name of a part', contentId],
  ['the name of a file', (text: string) => risksOf(text, text)],
] as const) {
  test(`the time to read ${name} grows no faster than the text`, () => {
    const slow = REPEATED.filter((piece) => grows(read, piece, longest))
    assert.deepEqual(slow, [])
  })
}

/** The machine has other work too: only what is too slow three times is. */
function grows(read: (text: string) => unknown, piece: string, longest: number): boolean {
  return [1, 2, 3].every(() => growth(read, piece, longest) > MOST_GROWTH)
}

function growth(read: (text: string) => unknown, piece: string, longest: number): number {
  const whole = piece.repeat(Math.ceil(longest / piece.length)).slice(0, longest)
  const part = whole.slice(0, longest / PIECES)
  const partsMs = computingMs(() => {
    for (let at = 0; at < PIECES; at += 1) read(part)
  })
  return computingMs(() => read(whole)) / Math.max(partsMs, STEP_MS)
}

function computingMs(work: () => unknown): number {
  const before = threadCpuUsage()
  work()
  const { user, system } = threadCpuUsage(before)
  return (user + system) / 1_000
}
