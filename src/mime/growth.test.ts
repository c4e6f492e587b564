import { describe, expect, test } from 'vitest'
import { cleanLine } from './clean.ts'
import { readDate } from './date.ts'
import { safeFilename } from './filename.ts'
import { unflow } from './flowed.ts'
import { readHead } from './head.ts'
import { textFromHtml } from './html-text.ts'
import { readAddress, readMailboxes } from './mailbox.ts'
import { readStructured } from './parameters.ts'
import { parseMail } from './parse.ts'
import { decodeTransfer } from './transfer.ts'
import { decodeUtf7 } from './utf7.ts'
import { decodeWords } from './words.ts'

// Whatever a sender repeats, the time to read it grows with its length and no faster: one long text takes no more of
// this thread's computing time than its eight pieces. A square would take 8 times as much; 4 is what we allow.
const PIECES = 8
const MOST_GROWTH = 4
// The system counts computing time in steps of up to 10 ms.
const STEP_MS = 10
const LONGEST = 65_536

const REPEATED = [
  ...['a', ' ', '<', '(', '=?', '@.', 'xn--', '&#', '/*', '--', '"', '\\', ';', '[', ',', ':', '>'],
  ...['\t', '\r', '\n', '\r\n ', '%', "'", '=', '*', '.', '+', '\0', '\u00e4', '\ud800', '\u202e'],
  ...['a ', 'a@', '<a@b', '@[', '=?u?q?', '=?u?q?a?=', '=?u?b?a?= ', ';a=', ';a*0=b', 'a;"', '> '],
  ...['@ ', '@, ', ' @', '. ', '@a,', '<@ ', '"@', ' \t', '; ', '="', "a'", '*0*=%', 'a-', '1:'],
  ...['<a ', '<!--', '</', '<p>', '<b>', '=\n', '=4', '1 ', '1 Jan ', '\\"', '( ', ')('],
]

const READERS: [string, (text: string) => unknown, longest?: number][] = [
  ['the header look', (text) => readHead(Buffer.from(`From: ${text}\nSubject: ${text}\n\n`), text)],
  ['the header look at names', (text) => readHead(Buffer.from(text), '')],
  ['mailboxes', (text) => [...readMailboxes(text)]],
  // Longer ones are refused unread: what is short must not grow without bounds either.
  ['an address', readAddress, 600],
  ['an address in brackets', (text) => [...readMailboxes(`<${text}>`)], 600],
  ['a short date', (text) => readDate(`1 Jan 2026 ${text}`), 90],
  ['encoded words', decodeWords],
  ['parameters', (text) => readStructured(`a/b; ${text}`)],
  ['a date', readDate],
  ['a file name', (text) => safeFilename(text, 0, '')],
  ['a line', (text) => cleanLine(text, 998)],
  ['flowed text', (text) => unflow(text, true)],
  ['UTF-7', (text) => decodeUtf7(Buffer.from(text))],
  ['quoted-printable', (text) => decodeTransfer(Buffer.from(text), 'quoted-printable')],
  ['base64', (text) => decodeTransfer(Buffer.from(text), 'base64')],
  ['HTML', textFromHtml],
  ['a whole mail', (text) => parseMail(Buffer.from(`To: ${text}\nX: ${text}\n\n${text}`))],
]

describe('the time to read', () => {
  for (const [name, read, longest = LONGEST] of READERS) {
    test(`${name} grows no faster than the text`, () => {
      const grown = REPEATED.map((piece) => ({ piece, growth: growth(read, piece, longest) }))
      expect(grown.filter(({ growth }) => growth > MOST_GROWTH)).toEqual([])
    })
  }
})

function growth(read: (text: string) => unknown, piece: string, longest: number): number {
  const whole = piece.repeat(Math.ceil(longest / piece.length)).slice(0, longest)
  const part = whole.slice(0, longest / PIECES)
  const partsMs = bestMs(() => {
    for (let at = 0; at < PIECES; at += 1) read(part)
  })
  return bestMs(() => read(whole)) / Math.max(partsMs, STEP_MS)
}

function bestMs(work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3; round += 1) {
    const before = process.threadCpuUsage()
    work()
    const { user, system } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  return least
}
